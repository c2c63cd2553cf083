"""Ray: a real local cluster, whose workers are killed and whose data sets are read again."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import InputError, Release
from deniable.engines.ray import BatchPrivatizer, privatize_dataset
from deniable.engines.tallies import make_certificate, merge_tallies
from tests.engines.helpers import REPEATED_IDS, ROWS, make_alike_table, make_spelled_tables, make_table, run_plainly
from tests.text.helpers import MECHANISM

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'deniable[ray]'")
data = pytest.importorskip("ray.data", reason="ray's data sets are not installed: pip install 'deniable[ray]'")

# Ray warns of the defaults of its own settings.
pytestmark = pytest.mark.filterwarnings(r"ignore:.* is deprecated:DeprecationWarning:ray\.data\.context")
DIVISION = "which of its rows stand in one block"


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Start a cluster on this machine, which tells nobody of it; nothing of it is left running."""
    folder = tempfile.mkdtemp(prefix="ray-")  # sockets need a short path
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        ray.init(
            address="local",
            num_cpus=4,  # an actor holds one, and Ray needs some to read blocks
            include_dashboard=False,
            object_store_memory=80 << 20,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=folder,
        )
        try:
            data.DataContext.get_current().enable_progress_bars = False
            yield
        finally:
            ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def release(tmp_path):
    """Return a release under a key in a file, which workers can read."""
    path = tmp_path / "release.key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return Release(MECHANISM, key=f"file:{path}")


def make_dataset(blocks=1, table=None):
    """Return the table in so many blocks."""
    return data.from_arrow(make_table() if table is None else table).repartition(blocks)


def read_sorted(dataset):
    """Return a data set as a table, in the order of its ids."""
    return pa.concat_tables(ray.get(dataset.to_arrow_refs())).sort_by("id")


def test_blocks_do_not_matter(release, tmp_path):
    """A table in several blocks and batches, by several actors, equals the plain run, and so does its certificate."""
    plain, certificate, tally = run_plainly(make_table(), release, tmp_path / "plain")
    new = privatize_dataset(
        make_dataset(5),
        release,
        text="text",
        id="id",
        tallies=tmp_path / "tallies",
        batch_size=3,
        compute=data.ActorPoolStrategy(size=2),
    )
    assert read_sorted(new).to_pylist() == plain.to_pylist()
    assert merge_tallies(tmp_path / "tallies") == tally
    merged = json.loads(make_certificate(release, tmp_path / "tallies").to_json())
    assert merged["not_protected"].pop(-1) == f"what the file says about itself, copied unchanged: {DIVISION}"
    assert merged == json.loads(certificate.to_json())


def fail_once(folder):
    """End the process, the first time that any process is told so."""
    try:
        os.close(os.open(Path(folder) / "failed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os._exit(1)


class DyingPrivatizer(BatchPrivatizer):
    """An actor that dies once, after a batch is privatized and counted."""

    def __call__(self, table):
        new = super().__call__(table)
        fail_once(self._tallies.path.parent)
        return new


def test_a_killed_actor(release, tmp_path, monkeypatch):
    """An actor that dies after its batch was counted is replaced: texts are the same, and each record counts once."""
    plain, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    monkeypatch.setattr("deniable.engines.ray.BatchPrivatizer", DyingPrivatizer)
    new = privatize_dataset(
        make_dataset(3),
        release,
        text="text",
        id="id",
        tallies=tmp_path / "tallies",
        compute=data.ActorPoolStrategy(size=1),
    )
    assert read_sorted(new).to_pylist() == plain.to_pylist()
    assert (tmp_path / "failed").exists()
    assert merge_tallies(tmp_path / "tallies") == tally


def test_a_lazy_data_set_that_is_read_again(release, tmp_path):
    """What is read again, or begun, in the same blocks counts once; half a data set has no tally."""
    plain, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    new = privatize_dataset(
        make_dataset(3).materialize(), release, text="text", id="id", tallies=tmp_path / "tallies",
        compute=data.ActorPoolStrategy(size=1),
    )  # fmt: skip
    with pytest.raises(InputError, match="has 0 of 40 records"):
        merge_tallies(tmp_path / "tallies")
    assert len(new.take(2)) == 2
    new.write_parquet(str(tmp_path / "private"))
    assert pq.read_table(tmp_path / "private").sort_by("id").to_pylist() == plain.to_pylist()
    assert merge_tallies(tmp_path / "tallies") == tally


def test_blocks_of_pandas(release, tmp_path):
    """Blocks that pandas holds give the same texts, also one without a single text."""
    table = make_table()
    plain, *_ = run_plainly(table, release, tmp_path / "plain", ("note", "text"))
    empty = table.slice(0, 3).set_column(1, "text", pa.array([None] * 3, pa.string()))
    parts = [empty.to_pandas(), table.slice(3).to_pandas()]
    new = privatize_dataset(data.from_pandas(parts[::-1]), release, text=["note", "text"], id="id")
    rows = sorted(new.take_all(), key=lambda row: row["id"])
    expected = plain.to_pylist()
    assert [row["note"] for row in rows] == [row["note"] for row in expected]
    assert [row["text"] for row in rows] == [None] * 3 + [row["text"] for row in expected][3:]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([*range(ROWS - 2), 0, 0], r"of the data set is not unique \(rows that repeat an id: 2\)\. Equal ids"),
        ([*range(ROWS - 1), None], "of the data set holds a null or a blank: give every row an id"),
    ],
)
def test_ids_that_are_not_unique(release, tmp_path, ids, message):
    """Ids are looked at in the whole data set, over all blocks, before anything is drawn."""
    dataset = make_dataset(4, make_table(pa.array(ids, pa.int64())))
    with pytest.raises(InputError, match=message):
        privatize_dataset(dataset, release, text="text", id="id", tallies=tmp_path / "tallies")
    assert not (tmp_path / "tallies").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "stars"}, "The column 'stars' of the data set holds int64, not text: convert it to strings."),
        ({"text": "body"}, "the data set has no column 'body'. Its columns: 'id', 'text', 'note', 'stars'."),
        ({"id": "key"}, "the data set has no column 'key'. Its columns: 'id', 'text', 'note', 'stars'."),
        ({"id": "text"}, "The column 'text' of the data set cannot hold both texts and record ids"),
        ({"id": None}, "Under a key the noise follows the record's id: name the column of unique record ids"),
        ({"fresh": True}, "fresh=True asks Ray for new noise in every run, and a key for the same noise"),
        ({"release": Release(MECHANISM)}, "Ray may run a task twice, and without a key"),
        ({"release": Release(MECHANISM, key=bytes(32))}, "Ray sends the release to other processes"),
        ({"dataset": [1]}, "The 'dataset' parameter of privatize_dataset must be a ray.data.Dataset."),
    ],
)
def test_what_cannot_be_used(release, options, message):
    """What is missing, of a wrong type or at odds is named in one line."""
    arguments = {"dataset": make_dataset(), "release": release, "text": "text", "id": "id"} | options
    with pytest.raises(InputError) as caught:
        privatize_dataset(**arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_the_class_alone_checks_its_release(tmp_path):
    """Who maps with the class cannot pass by the checks of the release, nor count without ids."""
    with pytest.raises(InputError, match="Ray may run a task twice"):
        BatchPrivatizer(Release(MECHANISM), "text", "id")
    with pytest.raises(InputError, match="Tallies count each record once, by its id"):
        privatize_dataset(make_dataset(), Release(MECHANISM), text="text", fresh=True, tallies=tmp_path / "tallies")


def test_fresh_noise():
    """Fresh noise needs no ids, and differs whenever a batch is read."""
    table = make_table().drop_columns(["id"])
    privatize_dataset(make_dataset(1, table), Release(MECHANISM), text="text", fresh=True)
    privatize = BatchPrivatizer(Release(MECHANISM), "text", fresh=True)
    assert not privatize(table)["text"].equals(privatize(table)["text"])


def test_an_empty_data_set(release):
    """No rows are no rows; not even columns is refused."""
    empty = data.from_arrow(make_table().slice(0, 0))
    assert privatize_dataset(empty, release, text="text", id="id").count() == 0
    with pytest.raises(InputError, match="The data set is empty, without a column"):
        privatize_dataset(data.from_items([]), release, text="text", id="id")


@pytest.mark.parametrize("texts", [[None, "the food"], ["the food", None], [None, None]])
def test_a_block_without_a_text_passes(release, texts):
    """Ray knows no type of a block in which all texts are null, which may be the first one."""
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    dataset = privatize_dataset(data.from_items(rows, override_num_blocks=2), release, text="text", id="id")
    new = {row["id"]: row["text"] for row in dataset.take_all()}
    batch = release.batch(texts, [0, 1])
    assert [new[0], new[1]] == batch.texts


def test_names_that_differ_in_capitals(release, tmp_path):
    """The column that is named is released, and the one whose name differs in capitals stays."""
    plain, _, _ = run_plainly(make_alike_table(), release, tmp_path, ("Note",))
    rows = privatize_dataset(data.from_arrow(make_alike_table()), release, text="Note", id="id").take_all()
    assert sorted(rows, key=lambda row: row["id"]) == plain.to_pylist()


def test_ids_are_identities(release, tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, _ = run_plainly(make_table(), release, tmp_path)
    for table in make_spelled_tables()[1:3]:
        rows = privatize_dataset(data.from_arrow(table), release, text="text", id="id").take_all()
        assert [row["text"] for row in sorted(rows, key=lambda row: float(row["id"]))] == expected["text"].to_pylist()
    with pytest.raises(InputError, match=r"is not unique \(rows that repeat an id: 1\)"):
        privatize_dataset(data.from_arrow(make_table(REPEATED_IDS)), release, text="text", id="id")
