"""Datasets of Hugging Face are released as the plain run releases the same table, and never read from a wrong cache."""

import json
import subprocess
import sys

import numpy as np
import pytest

from deniable import InputError, Release
from tests.engines.helpers import REPEATED_IDS, ROWS, make_alike_table, make_spelled_tables, make_table, run_plainly
from tests.engines.test_tasks import KEYED
from tests.text.helpers import MECHANISM, ODD_PIECES, SPACE, WORDS

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

from deniable import TEM, Space  # noqa: E402 - where datasets is installed
from deniable.engines.huggingface import privatize_dataset  # noqa: E402 - the same

FRESH = Release(MECHANISM)
OTHER_KEY = Release(MECHANISM, key="seed:8")


@pytest.fixture(autouse=True)
def _quiet():
    datasets.disable_progress_bars()


@pytest.fixture
def dataset():
    """Return forty rows in memory."""
    return datasets.Dataset(make_table())


@pytest.fixture
def stored(tmp_path, dataset):
    """Return forty rows in a folder of their own, where further ones are stored too."""
    dataset.save_to_disk(tmp_path / "stored")
    return datasets.load_from_disk(tmp_path / "stored")


def _with_float_ids(data):
    """Return the features of a dataset with ids of floats."""
    return datasets.Features({**data.features, "id": datasets.Value("float64")})


def list_stored(folder):
    """Return the names of the files that were stored for fingerprints."""
    return sorted(path.name for path in folder.glob("cache-*"))


@pytest.fixture
def draws(monkeypatch):
    """Return a list that gets an entry for each batch that this process draws."""
    seen = []
    draw = Release.privatize_cells

    def privatize_cells(self, cells, **options):
        seen.append(len(cells))
        return draw(self, cells, **options)

    monkeypatch.setattr(Release, "privatize_cells", privatize_cells)
    return seen


@pytest.mark.parametrize("columns", [("text",), ("note", "text")])
@pytest.mark.parametrize("release", [KEYED, Release(MECHANISM, key="seed:7", unknown="drop", unescape="html")])
def test_a_dataset_equals_the_plain_run(tmp_path, dataset, columns, release):
    """One column of texts or two: the cells and the counts of the plain run, and nothing else has changed."""
    plain, _, plain_tally = run_plainly(make_table(), release, tmp_path, columns)
    released = privatize_dataset(dataset, release, text=columns, id="id", batch_size=7)
    assert released.table.to_list() == plain.to_pylist()
    assert released.table.features == dataset.features
    assert released.tally == plain_tally
    assert released.copied == tuple(name for name in plain.column_names if name not in columns)
    assert dataset.to_list() == make_table().to_pylist()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("processes", [1, 2])
def test_processes_do_not_matter(tmp_path, stored, processes):
    """One process or two give the plain run, and so does what they have stored, also to another number of them."""
    plain, _, plain_tally = run_plainly(make_table(), KEYED, tmp_path)
    for number in (processes, processes, None):
        released = privatize_dataset(stored, KEYED, text="text", id="id", num_proc=number, batch_size=6)
        assert released.table.to_list() == plain.to_pylist()
        assert released.tally == plain_tally


def test_order_and_parts_do_not_matter(dataset):
    """Rows in another order, some of them, and again have the same texts."""
    once = privatize_dataset(dataset, KEYED, text="text", id="id").table
    order = [*range(20, 40), *range(19, -1, -2)]
    some = privatize_dataset(dataset.select(order), KEYED, text="text", id="id").table
    assert some.to_list() == once.select(order).to_list()


def test_what_is_stored_is_read_again(stored, draws):
    """The same release of the same data draws once; its counts are the same when it is read again."""
    first = privatize_dataset(stored, KEYED, text="text", id="id")
    assert draws
    draws.clear()
    second = privatize_dataset(stored, KEYED, text="text", id="id")
    assert draws == []
    assert second.table.to_list() == first.table.to_list()
    assert second.tally == first.tally
    assert second.table._fingerprint == first.table._fingerprint


def test_nothing_else_is_read(stored, draws):
    """Another key, option, mechanism, column or data set of one name draws its own texts, also after the first."""
    releases = [
        KEYED,
        OTHER_KEY,
        Release(MECHANISM, key="seed:7", case="copy"),
        Release(TEM(SPACE, epsilon=2.0), key="seed:7"),
    ]
    runs = [(stored, release, "text") for release in releases] + [
        (stored, KEYED, "note"),
        (stored.skip(1), KEYED, "text"),
    ]
    fingerprints = set()
    for data, release, column in runs:
        draws.clear()
        new = privatize_dataset(data, release, text=column, id="id").table
        assert draws
        assert new[column] == release_column(data, release, column)
        fingerprints.add(new._fingerprint)
    assert len(fingerprints) == len(runs)


def release_column(data, release, column):
    """Return the texts of a column as a batch of the release gives them."""
    from deniable.text.batches import TextCell

    cells = [TextCell(str(row["id"]), column, 0, row[column]) for row in data if row[column]]
    new_texts = iter(release.privatize_cells(cells).texts)
    return [next(new_texts) if text else text for text in data[column]]


def test_unnamed_releases_are_never_read_again(stored):
    """A metric of the caller has no fingerprint: under a public seed another epsilon still draws its own texts."""
    space = Space(WORDS, SPACE.vectors, metric=measure_distances)
    one, other = (Release(TEM(space, epsilon=epsilon), key="seed:7") for epsilon in (0.1, 50.0))
    first, second = (privatize_dataset(stored, release, text="text", id="id").table for release in (one, other))
    in_memory = datasets.Dataset(make_table())
    assert first["text"][:] != second["text"][:]
    assert second["text"][:] == privatize_dataset(in_memory, other, text="text", id="id").table["text"][:]


def measure_distances(points, others):
    """Return the distances of points from others, by the sum of differences."""
    return np.abs(points[:, None] - others[None]).sum(axis=-1)


def test_a_rotated_key_is_not_served_the_old_texts(stored, monkeypatch):
    """The key behind one reference changes: what the old one stored is not read again."""
    release = Release(MECHANISM, key="env:DENIABLE_TEST_KEY")
    monkeypatch.setenv("DENIABLE_TEST_KEY", "01" * 32)
    old = privatize_dataset(stored, release, text="text", id="id").table
    monkeypatch.setenv("DENIABLE_TEST_KEY", "02" * 32)
    new = privatize_dataset(stored, release, text="text", id="id").table
    assert old["text"] != new["text"]
    monkeypatch.setenv("DENIABLE_TEST_KEY", "01" * 32)
    assert privatize_dataset(stored, release, text="text", id="id").table["text"] == old["text"]


def test_stored_texts_without_counts_are_drawn_again(tmp_path, stored, draws):
    """Where the file of counts is gone, or cannot be read, the texts are drawn again, so that they are counted."""
    first = privatize_dataset(stored, KEYED, text="text", id="id")
    (counts,) = (tmp_path / "stored").glob("cache-*.tally.json")
    assert counts.stat().st_mode & 0o077 == 0
    for damage in (counts.unlink, lambda: counts.write_text("{}")):
        damage()
        draws.clear()
        again = privatize_dataset(stored, KEYED, text="text", id="id")
        assert draws
        assert again.tally == first.tally
        assert again.table.to_list() == first.table.to_list()


def test_fresh_noise_is_never_read_again(tmp_path, stored, draws):
    """Without a key each call draws anew, and nothing that it stores has a name that comes again."""
    with pytest.raises(InputError, match="fresh=True"):
        privatize_dataset(stored, FRESH, text="text")
    first = privatize_dataset(stored, FRESH, text="text", fresh=True)
    files = list_stored(tmp_path / "stored")
    draws.clear()
    second = privatize_dataset(stored, FRESH, text="text", fresh=True)
    assert draws
    assert first.table["text"] != second.table["text"]
    assert first.table._fingerprint != second.table._fingerprint
    assert len(list_stored(tmp_path / "stored")) == len(files) + 1
    assert (first.tally.records, first.tally.lengths) == (ROWS, second.tally.lengths)


def test_fingerprints_need_the_key(dataset):
    """The fingerprint that leaves with the private texts is under the key: who guesses the data cannot check it."""
    one, other = (privatize_dataset(dataset, release, text="text", id="id").table for release in (KEYED, OTHER_KEY))
    assert dataset._fingerprint not in (one._fingerprint, other._fingerprint)
    assert one._fingerprint != other._fingerprint


def test_what_a_dataset_says_of_itself_stays_behind(tmp_path, stored):
    """Features, with the names of their classes, come out; description, sizes and checksums do not, nor into a file."""
    stored = stored.cast_column("stars", datasets.ClassLabel(names=list("abcde"))).with_format("numpy", ["text"])
    stored.info.description = "private description"
    stored.info.download_checksums = {"private": {"num_bytes": 4711}}
    stored.info.dataset_size = 4711
    released = privatize_dataset(stored, KEYED, text="text", id="id").table
    assert released.features == stored.features
    assert released.format == stored.format
    nothing = datasets.DatasetInfo(features=released.features)
    assert released.info == nothing
    assert stored.info.description == "private description"
    released.with_format(None).save_to_disk(tmp_path / "released")
    said = b"".join(path.read_bytes() for path in (tmp_path / "released").iterdir())
    assert b"private description" not in said
    assert b"4711" not in said
    assert stored._fingerprint.encode() not in said
    state = json.loads((tmp_path / "released" / "state.json").read_text())
    assert state["_fingerprint"]


def test_a_dict_of_splits_is_one_data_set(dataset):
    """Each split is released under its name, all are counted together, and ids are unique over them."""
    splits = datasets.DatasetDict({"train": dataset.select(range(30)), "test": dataset.select(range(30, 40))})
    whole = privatize_dataset(dataset, KEYED, text="text", id="id")
    released = privatize_dataset(splits, KEYED, text="text", id="id")
    assert isinstance(released.table, datasets.DatasetDict)
    assert [*released.table["train"], *released.table["test"]] == whole.table.to_list()
    assert (released.tally, released.copied) == (whole.tally, whole.copied)
    twice = datasets.DatasetDict({"train": dataset, "test": dataset.select(range(3))})
    with pytest.raises(InputError, match=r"not unique \(rows that repeat an id: 3\)"):
        privatize_dataset(twice, KEYED, text="text", id="id")


def test_an_empty_dataset_passes(dataset):
    """A dataset without rows keeps its features, and stays as it is."""
    dataset.info.description = "private description"
    empty = dataset.select([])
    released = privatize_dataset(empty, KEYED, text=["text", "note"], id="id")
    assert (len(released.table), released.tally.records) == (0, 0)
    assert released.table.features == dataset.features
    assert released.table.info.description == ""
    assert empty.info.description == "private description"


def test_odd_texts_pass():
    """Scripts of other directions, emoji and NULs are read as in a batch; Arrow has no lone surrogates."""
    texts = [f"{WORDS[0]} {piece} {WORDS[1]}" for piece in ODD_PIECES if piece != "\ud800"]
    ids = list(range(len(texts)))
    released = privatize_dataset(datasets.Dataset.from_dict({"id": ids, "text": texts}), KEYED, text="text", id="id")
    assert list(released.table["text"]) == KEYED.batch(texts, ids).texts


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda data: datasets.concatenate_datasets([data, data]), {}, r"not unique \(rows that repeat an id: 40\)"),
        (lambda data: data.map(lambda row: {"id": row["id"] or None}), {}, "holds a null"),
        (
            lambda data: data.map(lambda row: {"id": row["id"] / 2}, features=_with_float_ids(data)),
            {},
            r"The column 'id' of the dataset: .* Got 0\.5: write",
        ),
        (lambda data: data.to_iterable_dataset(), {}, "streamed dataset"),
        (lambda data: data.to_list(), {}, "takes a Dataset or a DatasetDict. Got one list"),
        (lambda data: data, {"text": "stars"}, "The column 'stars' of the dataset holds int64, not text"),
        (lambda data: data, {"text": "texts"}, "has no column 'texts'. Its columns: 'id', 'text', 'note', 'stars'"),
        (lambda data: data, {"id": None}, "name the column of unique record ids"),
        (lambda data: data, {"text": "id"}, "cannot hold both texts and record ids"),
        (lambda data: data, {"num_proc": -1}, "The 'num_proc' parameter .* must be a whole number"),
        (lambda data: data, {"num_proc": 1.5}, "The 'num_proc' parameter .* must be a whole number"),
        (lambda data: data, {"batch_size": "9"}, "The 'batch_size' parameter .* must be a whole number"),
    ],
)
def test_what_cannot_be_released_is_refused(monkeypatch, dataset, change, options, message):
    """Repeated ids, nulls among them, and columns that are not there are named in one line before the first draw."""
    monkeypatch.setattr(Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))
    data = change(dataset)
    with pytest.raises(InputError, match=message) as caught:
        privatize_dataset(data, KEYED, **{"text": "text", "id": "id", **options})
    assert "\n" not in str(caught.value)
    assert "london" not in str(caught.value).lower()


def test_a_key_of_bytes_stays_in_its_process(dataset):
    """A key that is held as bytes serves one process, and is refused for several."""
    release = Release(MECHANISM, key=bytes(range(32)))
    assert privatize_dataset(dataset, release, text="text", id="id").tally.records == ROWS
    with pytest.raises(InputError, match="cannot travel"):
        privatize_dataset(dataset, release, text="text", id="id", num_proc=2)


def test_datasets_is_imported_when_it_is_used():
    """The module loads where datasets is missing, and one line names what to install."""
    code = (
        "import sys; sys.modules['datasets'] = None\n"
        "from deniable.engines.huggingface import privatize_dataset\n"
        "try: privatize_dataset(None, None, text='text')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "privatize_dataset needs datasets, which is missing: install datasets.\n"


def test_names_that_differ_in_capitals(tmp_path):
    """The column that is named is released, and the one whose name differs in capitals stays."""
    plain, _, _ = run_plainly(make_alike_table(), KEYED, tmp_path, ("Note",))
    released = privatize_dataset(datasets.Dataset(make_alike_table()), KEYED, text="Note", id="id")
    assert released.table.to_dict() == plain.to_pydict()


def test_ids_are_identities(tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, _ = run_plainly(make_table(), KEYED, tmp_path)
    for table in make_spelled_tables():
        released = privatize_dataset(datasets.Dataset(table), KEYED, text="text", id="id")
        assert released.table["text"][:] == expected["text"].to_pylist()
    with pytest.raises(InputError, match=r"is not unique \(rows that repeat an id: 1\)"):
        privatize_dataset(datasets.Dataset(make_table(REPEATED_IDS)), KEYED, text="text", id="id")
