"""Datasets of Hugging Face: splits, processes, and a cache from which nothing wrong is read."""

import json

import numpy as np
import pytest

import deniable as dn
from tests.engines.helpers import FRESH, KEYED, ROWS, make_table
from tests.refusals import refuses
from tests.text.helpers import MECHANISM, SPACE, WORDS

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

from deniable.engines.huggingface import privatize_dataset  # noqa: E402 - where datasets is installed

OTHER_KEY = dn.Release(MECHANISM, key="seed:8")
BY_ID = {"text": "text", "id": "id"}


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


@pytest.fixture
def draws(monkeypatch):
    """Return a list that gets an entry for each batch that this process draws."""
    seen = []
    draw = dn.Release.privatize_cells

    def privatize_cells(self, cells, **options):
        seen.append(len(cells))
        return draw(self, cells, **options)

    monkeypatch.setattr(dn.Release, "privatize_cells", privatize_cells)
    return seen


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("processes", [1, 2])
def test_processes_do_not_matter(stored, dataset, processes):
    """One process or two give the same, and so does what they have stored, also to another number of them."""
    expected = privatize_dataset(dataset, KEYED, **BY_ID)
    for number in (processes, processes, None):
        released = privatize_dataset(stored, KEYED, **BY_ID, num_proc=number, batch_size=6)
        assert released.table.to_list() == expected.table.to_list()
        assert released.tally == expected.tally


def test_what_is_stored_is_read_again(tmp_path, stored, draws):
    """The same release of the same data draws once; where its counts are gone or damaged it is drawn again."""
    first = privatize_dataset(stored, KEYED, **BY_ID, batch_size=7)
    (counts,) = (tmp_path / "stored").glob("cache-*.tally.json")
    assert counts.stat().st_mode & 0o077 == 0
    for damage in (lambda: None, counts.unlink, lambda: counts.write_text("{}")):
        damage()
        draws.clear()
        again = privatize_dataset(stored, KEYED, **BY_ID, batch_size=7)
        assert again.table.to_list() == first.table.to_list()
        assert again.tally == first.tally
        assert again.table._fingerprint == first.table._fingerprint
    assert len(draws) == 6  # for the last damage; the first run drew nothing anew


def test_nothing_else_is_read(stored, draws):
    """Another key, option, mechanism, column or data set of one name draws its own texts, also after the first."""
    releases = [KEYED, OTHER_KEY, dn.Release(MECHANISM, key="seed:7", case="copy")]
    releases.append(dn.Release(dn.TEM(SPACE, epsilon=2.0), key="seed:7"))
    runs = [(stored, release, "text") for release in releases]
    runs += [(stored, KEYED, "note"), (stored.skip(1), KEYED, "text")]
    fingerprints = set()
    for data, release, column in runs:
        draws.clear()
        new = privatize_dataset(data, release, text=column, id="id").table
        assert draws
        in_memory = datasets.Dataset(data.with_format("arrow")[:])
        assert new[column][:] == privatize_dataset(in_memory, release, text=column, id="id").table[column][:]
        fingerprints.add(new._fingerprint)
    assert len(fingerprints) == len(runs)


def test_unnamed_releases_are_never_read_again(stored, dataset):
    """A metric of the caller has no fingerprint: under a public seed another epsilon still draws its own texts."""
    space = dn.Space(WORDS, SPACE.vectors, metric=measure_distances)
    one, other = (dn.Release(dn.TEM(space, epsilon=epsilon), key="seed:7") for epsilon in (0.1, 50.0))
    first, second = (privatize_dataset(stored, release, **BY_ID).table for release in (one, other))
    assert first["text"][:] != second["text"][:]
    assert second["text"][:] == privatize_dataset(dataset, other, **BY_ID).table["text"][:]


def measure_distances(points, others):
    """Return the distances of points from others, by the sum of differences."""
    return np.abs(points[:, None] - others[None]).sum(axis=-1)


def test_a_rotated_key_is_not_served_the_old_texts(stored, monkeypatch):
    """The key behind one reference changes: what the old one stored is not read again."""
    release, texts = dn.Release(MECHANISM, key="env:DENIABLE_TEST_KEY"), []
    for key in ("01", "02", "01"):
        monkeypatch.setenv("DENIABLE_TEST_KEY", key * 32)
        texts.append(privatize_dataset(stored, release, **BY_ID).table["text"][:])
    assert texts[0] == texts[2] != texts[1]


def test_fresh_noise_is_never_read_again(tmp_path, stored, draws):
    """Without a key each call draws anew, and nothing that it stores has a name that comes again."""
    first = privatize_dataset(stored, FRESH, text="text", fresh=True)
    files = len(list((tmp_path / "stored").glob("cache-*")))
    draws.clear()
    second = privatize_dataset(stored, FRESH, text="text", fresh=True)
    assert draws
    assert first.table["text"] != second.table["text"]
    assert first.table._fingerprint != second.table._fingerprint
    assert len(list((tmp_path / "stored").glob("cache-*"))) == files + 1
    assert (first.tally.records, first.tally.lengths) == (ROWS, second.tally.lengths)


def test_what_a_dataset_says_of_itself_stays_behind(tmp_path, stored):
    """Features, with the names of their classes, come out; description, sizes and checksums do not, nor into a file.

    The fingerprint that leaves is under the key: who guesses the data cannot check it.
    """
    stored = stored.cast_column("stars", datasets.ClassLabel(names=list("abcde"))).with_format("numpy", ["text"])
    stored.info.description = "private description"
    stored.info.download_checksums = {"private": {"num_bytes": 4711}}
    stored.info.dataset_size = 4711
    released, other = (privatize_dataset(stored, release, **BY_ID).table for release in (KEYED, OTHER_KEY))
    assert len({stored._fingerprint, released._fingerprint, other._fingerprint}) == 3
    assert released.features == stored.features
    assert released.format == stored.format
    assert released.info == datasets.DatasetInfo(features=released.features)
    assert stored.info.description == "private description"
    released.with_format(None).save_to_disk(tmp_path / "released")
    said = b"".join(path.read_bytes() for path in (tmp_path / "released").iterdir())
    for secret in (b"private description", b"4711", stored._fingerprint.encode()):
        assert secret not in said
    assert json.loads((tmp_path / "released" / "state.json").read_text())["_fingerprint"]


def test_a_dict_of_splits_is_one_data_set(dataset):
    """Each split is released under its name, all are counted together, and ids are unique over them."""
    splits = datasets.DatasetDict({"train": dataset.select(range(30)), "test": dataset.select(range(30, 40))})
    whole = privatize_dataset(dataset, KEYED, **BY_ID)
    released = privatize_dataset(splits, KEYED, **BY_ID)
    assert isinstance(released.table, datasets.DatasetDict)
    assert [*released.table["train"], *released.table["test"]] == whole.table.to_list()
    assert (released.tally, released.copied) == (whole.tally, whole.copied)
    twice = datasets.DatasetDict({"train": dataset, "test": dataset.select(range(3))})
    with refuses("unique"):
        privatize_dataset(twice, KEYED, **BY_ID)


def test_an_empty_dataset_stays_as_it_is(dataset):
    """A dataset without rows keeps its features and its own description, of which nothing comes out."""
    dataset.info.description = "private description"
    empty = dataset.select([])
    released = privatize_dataset(empty, KEYED, text=["text", "note"], id="id")
    assert released.table.features == dataset.features
    assert released.table.info.description == ""
    assert empty.info.description == "private description"


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize(
    ("change", "options", "value"),
    [
        (lambda data: data.to_iterable_dataset(), {}, "streaming=True"),
        (lambda data: data, {"num_proc": -1}, "num_proc"),
        (lambda data: data, {"num_proc": 1.5}, "num_proc"),
        (lambda data: data, {"batch_size": "9"}, "batch_size"),
        (lambda data: data, {"release": dn.Release(MECHANISM, key=bytes(32)), "num_proc": 2}, "env:NAME"),
    ],
)
def test_what_cannot_be_released_is_refused(dataset, change, options, value):
    """A stream, numbers that are none, and a key of bytes for several processes are refused before a draw."""
    with refuses(value):
        privatize_dataset(change(dataset), **{"release": KEYED, **BY_ID, **options})
