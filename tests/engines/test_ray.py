"""Ray: a real local cluster, whose workers are killed and whose data sets are read again."""

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
import deniable.engines.ray as engine
from deniable.engines.tallies import make_certificate, merge_tallies
from deniable.engines.tasks import make_layout
from tests.engines.helpers import FRESH, KEYED, RAY_WARNING, TEXTS, make_table
from tests.refusals import refuses
from tests.text.helpers import MECHANISM

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'deniable[ray]'")

pytestmark = [
    pytest.mark.deep,
    RAY_WARNING,
    pytest.mark.usefixtures("ray_session"),
]
BY_ID = {"text": "text", "id": "id"}


@pytest.fixture(scope="module", autouse=True)
def _travelling():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def plain(tmp_path, file_release, run_plainly):
    """Return the rows of the plain run under the key in the file, its certificate, and its counts."""
    cells, certificate = run_plainly(make_table(), key=("--key", tmp_path / "release.key"))
    return pa.table(cells).to_pylist(), certificate, file_release.batch([t or "" for t in TEXTS], range(40)).tally


def make_dataset(blocks=1, table=None):
    """Return the table in so many blocks."""
    return ray.data.from_arrow(make_table() if table is None else table).repartition(blocks)


def read_sorted(dataset):
    """Return the rows of a data set, in the order of their ids."""
    return pa.concat_tables(ray.get(dataset.to_arrow_refs())).sort_by("id").to_pylist()


def actors(size):
    """Return a pool of so many actors."""
    return ray.data.ActorPoolStrategy(size=size)


def test_blocks_do_not_matter(file_release, tmp_path, plain):
    """A table in several blocks and batches, by several actors, equals the plain run, and so does its certificate."""
    rows, certificate, tally = plain
    options = {"tallies": tmp_path / "tallies", "batch_size": 3, "compute": actors(2)}
    new = engine.privatize_dataset(make_dataset(5), file_release, **BY_ID, **options)
    assert read_sorted(new) == rows
    assert merge_tallies(tmp_path / "tallies") == tally
    merged = json.loads(make_certificate(file_release, tmp_path / "tallies").to_json())
    assert merged["not_protected"].pop(-1).endswith("which of its rows stand in one block")
    assert {name: merged[name] for name in certificate} == certificate


def fail_once(folder):
    """End the process, the first time that any process is told so."""
    try:
        os.close(os.open(Path(folder) / "failed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os._exit(1)


class DyingPrivatizer(engine.BatchPrivatizer):
    """An actor that dies once, after a batch is privatized and counted."""

    def __call__(self, table):
        new = super().__call__(table)
        fail_once(self.tallies.path.parent)
        return new


def test_a_killed_actor(file_release, tmp_path, monkeypatch, plain):
    """An actor that dies after its batch was counted is replaced: texts are the same, and each record counts once."""
    monkeypatch.setattr(engine, "BatchPrivatizer", DyingPrivatizer)
    options = {"tallies": tmp_path / "tallies", "compute": actors(1)}
    new = engine.privatize_dataset(make_dataset(3), file_release, **BY_ID, **options)
    assert read_sorted(new) == plain[0]
    assert (tmp_path / "failed").exists()
    assert merge_tallies(tmp_path / "tallies") == plain[2]


def test_a_lazy_data_set_that_is_read_again(file_release, tmp_path, plain):
    """What is read again, or begun, in the same blocks counts once; half a data set has no tally."""
    options = {"tallies": tmp_path / "tallies", "compute": actors(1)}
    new = engine.privatize_dataset(make_dataset(3).materialize(), file_release, **BY_ID, **options)
    with refuses("0 of 40"):
        merge_tallies(tmp_path / "tallies")
    assert len(new.take(2)) == 2
    new.write_parquet(str(tmp_path / "private"))
    assert pq.read_table(tmp_path / "private").sort_by("id").to_pylist() == plain[0]
    assert merge_tallies(tmp_path / "tallies") == plain[2]


def test_blocks_of_pandas(file_release, plain):
    """Blocks that pandas holds give the same texts, also one without a single text."""
    table = make_table()
    empty = table.slice(0, 3).set_column(1, "text", pa.array([None] * 3, pa.string()))
    parts = [empty.to_pandas(), table.slice(3).to_pandas()]
    new = engine.privatize_dataset(ray.data.from_pandas(parts[::-1]), file_release, **BY_ID)
    rows = sorted(new.take_all(), key=lambda row: row["id"])
    assert [row["text"] for row in rows] == [None] * 3 + [row["text"] for row in plain[0]][3:]


def test_ids_are_looked_at_in_the_whole_data_set(file_release, tmp_path):
    """An id that is repeated or missing in another block is refused before anything is drawn."""
    for ids, value in (([*range(38), 0, 0], "2"), ([*range(39), None], "null")):
        dataset = make_dataset(4, make_table(pa.array(ids, pa.int64())))
        with refuses(value):
            engine.privatize_dataset(dataset, file_release, **BY_ID, tallies=tmp_path / "tallies")
        assert not (tmp_path / "tallies").exists()


def test_what_cannot_run_twice_is_refused(tmp_path):
    """Counts need ids; a key of bytes cannot travel; nor can nothing."""
    cases = [
        (lambda: engine.privatize_dataset(make_dataset(), FRESH, **BY_ID), "fresh=True"),
        (
            lambda: engine.privatize_dataset(make_dataset(), FRESH, text="text", fresh=True, tallies=tmp_path / "t"),
            "id=",
        ),
        (lambda: engine.privatize_dataset(make_dataset(), dn.Release(MECHANISM, key=bytes(32)), **BY_ID), "env:NAME"),
        (lambda: engine.privatize_dataset([1], KEYED, **BY_ID), "dataset"),
        (lambda: engine.privatize_dataset(ray.data.from_items([]), KEYED, **BY_ID), "empty"),
    ]
    for call, value in cases:
        with refuses(value):
            call()


def test_fresh_noise():
    """Fresh noise needs no ids, and differs whenever a batch is read."""
    table = make_table().drop_columns(["id"])
    engine.privatize_dataset(make_dataset(1, table), FRESH, text="text", fresh=True)
    privatize = engine.BatchPrivatizer(FRESH, make_layout("the data set", "text", None))
    assert not privatize(table)["text"].equals(privatize(table)["text"])


@pytest.mark.parametrize("texts", [[None, "the food"], ["the food", None], [None, None]])
def test_a_block_without_a_text_passes(texts):
    """Ray knows no type of a block in which all texts are null, which may be the first one."""
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    dataset = ray.data.from_items(rows, override_num_blocks=2)
    new = {row["id"]: row["text"] for row in engine.privatize_dataset(dataset, KEYED, **BY_ID).take_all()}
    assert [new[0], new[1]] == KEYED.batch(texts, [0, 1]).texts
