"""Spark: a real local session, whose tasks are killed and run again."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import deniable as dn
from deniable.engines.spark import privatize_dataframe
from deniable.engines.tallies import make_certificate, merge_tallies
from tests.engines.helpers import FRESH, KEYED, ROWS, TEXTS, make_alike_table, make_table
from tests.refusals import refuses
from tests.text.helpers import MECHANISM

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'deniable[spark]'")

pytestmark = pytest.mark.deep
BY_ID = {"text": "text", "id": "id"}


@pytest.fixture
def spark(spark_session):
    """Return the session, to which the classes of this file travel."""
    pyspark.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return spark_session


@pytest.fixture
def plain(tmp_path, file_release, run_plainly):
    """Return the rows of the plain run under the key in the file, its certificate, and its counts."""
    cells, certificate = run_plainly(make_table(), key=("--key", tmp_path / "release.key"))
    return pa.table(cells).to_pylist(), certificate, file_release.batch([t or "" for t in TEXTS], range(ROWS)).tally


def read_sorted(df):
    """Return the rows of a DataFrame, in the order of their ids."""
    return df.toArrow().sort_by("id").to_pylist()


def make_dataframe(spark, partitions=1, table=None):
    """Return the table in so many partitions."""
    return spark.createDataFrame(make_table() if table is None else table).repartition(partitions, "id")


@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_do_not_matter(spark, file_release, tmp_path, plain, partitions):
    """A table in one or seven partitions equals the plain run, and so does its certificate."""
    rows, certificate, tally = plain
    df = make_dataframe(spark, partitions)
    new = privatize_dataframe(df, file_release, **BY_ID, tallies=tmp_path / "tallies")
    assert new.schema == df.schema
    assert read_sorted(new) == rows
    assert merge_tallies(tmp_path / "tallies") == tally
    merged = json.loads(make_certificate(file_release, tmp_path / "tallies").to_json())
    assert merged["not_protected"].pop(-1).endswith("which of its rows stand in one part")
    assert {name: merged[name] for name in certificate} == certificate


class FailOnce:
    """Passes batches on; the first process of all that does so for a marked partition ends at once, or waits."""

    def __init__(self, folder, seconds=None):
        self.folder, self.seconds = folder, seconds

    def __call__(self, batches):
        for number, batch in enumerate(batches):
            yield batch
            if number == 1 and self.is_first():
                if self.seconds is None:
                    os._exit(1)
                time.sleep(self.seconds)

    def is_first(self):
        try:
            os.close(os.open(Path(self.folder) / "failed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_killed_worker(spark, file_release, tmp_path, plain, place):
    """A worker that dies amid a partition, before its texts are privatized or after, changes neither texts nor counts.

    Its task runs again, and every record counts once.
    """
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 5)
    try:
        df = make_dataframe(spark, 2)
        killer = FailOnce(str(tmp_path))
        df = df.mapInArrow(killer, df.schema) if place == "before" else df
        new = privatize_dataframe(df, file_release, **BY_ID, tallies=tmp_path / "tallies")
        (tmp_path / "failed").unlink(missing_ok=True)  # ids have been read, by which a worker may have died
        new = new.mapInArrow(killer, df.schema) if place == "after" else new
        assert read_sorted(new) == plain[0]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert (tmp_path / "failed").exists()
    assert merge_tallies(tmp_path / "tallies") == plain[2]


def test_two_jobs_at_the_same_time(spark, file_release, tmp_path, plain):
    """Two jobs that read one DataFrame at the same time get the same texts, and each record counts once."""
    df = make_dataframe(spark, 1)
    new = privatize_dataframe(df, file_release, **BY_ID, tallies=tmp_path / "tallies")
    slow = new.mapInArrow(FailOnce(str(tmp_path), seconds=1), df.schema)
    tables = {}
    jobs = [threading.Thread(target=lambda copy=copy: tables.update({copy: read_sorted(slow)})) for copy in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [*tables.values()] == [plain[0]] * 2
    assert merge_tallies(tmp_path / "tallies") == plain[2]


def test_a_lazy_table_that_is_read_again(spark, file_release, tmp_path, plain):
    """What is read again in the same parts counts once; half a table, or one cut in other parts, has no tally."""
    folder = tmp_path / "tallies"
    new = privatize_dataframe(make_dataframe(spark, 3), file_release, **BY_ID, tallies=folder)
    for use in (merge_tallies, lambda folder: make_certificate(file_release, folder)):
        with refuses("0 of 40"):
            use(folder)
    assert new.count() == ROWS
    assert len(new.limit(2).collect()) == 2
    new.coalesce(1).write.parquet(str(tmp_path / "private"))
    assert read_sorted(spark.read.parquet(str(tmp_path / "private")).repartition(5)) == plain[0]
    assert merge_tallies(folder) == plain[2]
    with refuses("another release"):
        make_certificate(dn.Release(MECHANISM, key=file_release.key, case="copy"), folder)
    again = privatize_dataframe(make_dataframe(spark, 2), file_release, **BY_ID, tallies=folder)
    assert read_sorted(again) == plain[0]
    with refuses("40"):
        merge_tallies(folder)


def test_ids_are_looked_at_in_the_whole_table(spark, file_release, tmp_path):
    """An id that is repeated or missing in another partition is refused before anything is drawn."""
    for ids, value in (([*range(ROWS - 2), 0, 0], "2"), ([*range(ROWS - 1), None], "null")):
        df = make_dataframe(spark, 7, make_table(pa.array(ids, pa.int64())))
        with refuses(value):
            privatize_dataframe(df, file_release, **BY_ID, tallies=tmp_path / "tallies")
        assert not (tmp_path / "tallies").exists()


def test_ids_that_are_made_anew(spark, file_release):
    """Ids that Spark may make anew each time are refused, also behind a cache, which may lose them."""
    for expression in ("monotonically_increasing_id()", "uuid()", "rand()"):
        df = make_dataframe(spark).drop("id").withColumn("id", pyspark.sql.functions.expr(f"string({expression})"))
        for unstable in (df, df.filter("stars > 1").cache()):
            with refuses("differ"):
                privatize_dataframe(unstable, file_release, **BY_ID)
        privatize_dataframe(df.localCheckpoint(), file_release, **BY_ID)


def test_what_cannot_be_used(spark, file_release):
    """What is missing, nested, at odds, without an end or no DataFrame is named, before any text is read."""
    df = make_dataframe(spark).selectExpr("*", "struct(text as city) as place", "id / 2 as share")
    stream = spark.readStream.format("rate").load().selectExpr("value as id", "string(value) as text")
    cases = [
        (df, {"text": "place"}, "'place'"),
        (df, {"text": "place.city"}, "'place.city'"),
        (df, {"text": "TEXT"}, "'TEXT'"),
        (df, {"id": "share"}, "'share'"),
        (df, {"fresh": True}, "fresh=True"),
        (df, {"release": FRESH}, "fresh=True"),
        (df, {"release": dn.Release(MECHANISM, key=bytes(32))}, "env:NAME"),
        (make_table(), {}, "DataFrame"),
        (stream, {"release": KEYED}, "stream"),
    ]
    for one, options, value in cases:
        with refuses(value):
            privatize_dataframe(one, **{"release": file_release, **BY_ID, **options})


def test_fresh_noise(spark, tmp_path):
    """Fresh noise needs no ids and differs whenever the table is read; with ids its counts are kept too."""
    df = make_dataframe(spark, 2).drop("id")
    new = privatize_dataframe(df, FRESH, text="text", fresh=True)
    first, second = (sorted(str(row.text) for row in new.collect()) for _ in range(2))
    assert first != second
    with refuses("id="):
        privatize_dataframe(df, FRESH, text="text", fresh=True, tallies=tmp_path / "tallies")
    df = make_dataframe(spark, 2)
    counted = privatize_dataframe(df, FRESH, **BY_ID, fresh=True, tallies=tmp_path / "tallies")
    assert counted.count() == counted.count() == ROWS
    assert make_certificate(FRESH, tmp_path / "tallies").records == ROWS


class OwnMechanism(dn.TEM):
    """A mechanism of the user's program, which workers cannot import."""


def test_a_mechanism_of_the_program(spark):
    """A mechanism whose class stands in the program itself travels to the workers."""
    release = dn.Release(OwnMechanism(MECHANISM.space, epsilon=1.0))
    assert privatize_dataframe(make_dataframe(spark), release, text="text", fresh=True).count() == ROWS


def test_columns_of_every_type_stay(spark, run_plainly):
    """Other columns of any type, their nulls and their names pass unchanged; what Spark says of columns does not."""
    df = make_dataframe(spark, 2).selectExpr(
        "string(id) as `an id`", "text as `a.b``c`", "cast(stars as decimal(9, 2)) as price",
        "timestamp_seconds(stars) as at", "date'2020-01-01' as day", "array(struct(text, stars)) as nested",
        "map('k', text) as pairs", "cast(text as binary) as raw", "if(stars = 2, null, stars) as gaps", "null as no",
        "parse_json('{\"a\": 1}') as json", "stars", "stars as Stars",
    )  # fmt: skip
    df = df.withMetadata("`a.b``c`", {"top": "london"}).withMetadata("gaps", {"labels": "london"})
    new = privatize_dataframe(df, KEYED, text="a.b`c", id="an id")
    assert "london" not in new.schema.json()
    assert [(field.name, field.dataType, field.nullable) for field in new.schema] == [
        (field.name, field.dataType, field.nullable) for field in df.schema
    ]
    before, after = ({row[0]: row for row in table.collect()} for table in (df, new))
    assert before.keys() == after.keys()
    for name in set(df.columns) - {"a.b`c"}:
        place = df.columns.index(name)
        assert [repr(before[key][place]) for key in before] == [repr(after[key][place]) for key in before]
    expected, _ = run_plainly(pa.table({"id": [*map(str, range(ROWS))], "a.b`c": TEXTS}), ("a.b`c",))
    assert [after[str(number)][1] for number in range(ROWS)] == expected["a.b`c"]


def test_a_key_that_workers_lack(spark, file_release, tmp_path):
    """A worker that cannot read the key fails with the one line that says so, and no text or key is in the error."""
    new = privatize_dataframe(make_dataframe(spark), file_release, **BY_ID)
    (tmp_path / "release.key").unlink()
    with pytest.raises(pyspark.errors.PySparkException) as caught:
        new.collect()
    told = str(caught.value)
    assert "release.key" in told
    assert "london" not in told
    assert bytes(range(32)).hex() not in told


@pytest.mark.parametrize(("text", "place"), [("note", 2), ("Note", 3)])
def test_names_that_differ_in_capitals(spark, run_plainly, text, place):
    """Spark does not tell capitals in names; columns are taken by their places, and the named one is released."""
    table = make_alike_table()
    expected, _ = run_plainly(table, (text,))
    df = spark.createDataFrame(table.to_pylist(), schema="id long, ID long, note string, Note string")
    rows = [tuple(row) for row in privatize_dataframe(df, KEYED, text=text, id="id").collect()]
    assert [row[place] for row in sorted(rows)] == expected[text]
    for other in {0, 1, 2, 3} - {place}:
        assert [row[other] for row in sorted(rows)] == table.column(other).to_pylist()
