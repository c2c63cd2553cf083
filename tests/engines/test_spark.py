"""Spark: a real local session, whose tasks are killed, copied and run again."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable import InputError, Release
from deniable.engines.spark import PartitionPrivatizer, privatize_dataframe
from deniable.engines.tallies import make_certificate, merge_tallies
from deniable.engines.tasks import make_layout, pack_release, unpack_release
from tests.engines.helpers import ROWS, TEXTS, make_alike_table, make_table, run_plainly
from tests.engines.spark_cluster import has_two_hosts, run_cluster
from tests.text.helpers import MECHANISM

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'deniable[spark]'")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

DIVISION = "which of its rows stand in one part"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """Return a session of two tasks at a time, each tried up to four times; nothing of it is left running."""
    folder = tmp_path_factory.mktemp("spark")
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.speculation": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    pyspark.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local[2,4]").appName("deniable")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=30)
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    del os.environ["PYSPARK_PYTHON"]
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before


@pytest.fixture
def release(tmp_path):
    """Return a release under a key in a file, which workers can read."""
    path = tmp_path / "release.key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return Release(MECHANISM, key=f"file:{path}")


def read_sorted(df):
    """Return a DataFrame as a table, in the order of its ids."""
    return df.toArrow().sort_by("id")


def make_dataframe(spark, partitions=1, table=None):
    """Return the table in so many partitions."""
    return spark.createDataFrame(make_table() if table is None else table).repartition(partitions, "id")


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_do_not_matter(spark, release, tmp_path, partitions):
    """A table in one, two or seven partitions equals the plain run byte for byte, and so does its certificate."""
    plain, certificate, tally = run_plainly(make_table(), release, tmp_path / "plain")
    df = make_dataframe(spark, partitions)
    new = privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
    assert new.schema == df.schema
    assert read_sorted(new).to_pylist() == plain.to_pylist()
    assert merge_tallies(tmp_path / "tallies") == tally
    merged = json.loads(make_certificate(release, tmp_path / "tallies").to_json())
    expected = json.loads(certificate.to_json())
    assert merged["not_protected"].pop(-1) == f"what the file says about itself, copied unchanged: {DIVISION}"
    assert merged == expected
    assert "the columns copied unchanged: 'id', 'note', 'stars'" in expected["not_protected"]


def test_several_columns(spark, release, tmp_path):
    """Two columns of texts are privatized together as in the plain run, in the order of the table."""
    plain, *_ = run_plainly(make_table(), release, tmp_path / "plain", ("note", "text"))
    new = privatize_dataframe(make_dataframe(spark, 2), release, text=["note", "text"], id="id")
    assert read_sorted(new).to_pylist() == plain.to_pylist()


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
def test_a_killed_worker(spark, release, tmp_path, place):
    """A worker that dies amid a partition, before its texts are privatized or after, changes neither texts nor counts.

    Its task runs again, and every record counts once.
    """
    plain, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 5)
    try:
        df = make_dataframe(spark, 2)
        killer = FailOnce(str(tmp_path))
        df = df.mapInArrow(killer, df.schema) if place == "before" else df
        new = privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
        (tmp_path / "failed").unlink(missing_ok=True)  # ids have been read, by which a worker may have died
        new = new.mapInArrow(killer, df.schema) if place == "after" else new
        assert read_sorted(new).to_pylist() == plain.to_pylist()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert (tmp_path / "failed").exists()
    assert merge_tallies(tmp_path / "tallies") == tally


def test_two_jobs_at_the_same_time(spark, release, tmp_path):
    """Two jobs that read one DataFrame at the same time get the same texts, and each record counts once."""
    plain, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    df = make_dataframe(spark, 1)
    new = privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
    slow = new.mapInArrow(FailOnce(str(tmp_path), seconds=1), df.schema)
    tables = {}
    jobs = [threading.Thread(target=lambda copy=copy: tables.update({copy: read_sorted(slow)})) for copy in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [table.to_pylist() for table in tables.values()] == [plain.to_pylist()] * 2
    assert merge_tallies(tmp_path / "tallies") == tally


@pytest.mark.skipif(not has_two_hosts(), reason="this machine answers to 127.0.0.1 alone: Spark needs a second host")
def test_copies_of_slow_tasks(release, tmp_path):
    """A task that Spark copies to another host because it is slow (speculation) counts once, and its texts are equal.

    The slow attempt has privatized its part, and left its counts, before the copy begins.
    """
    plain, _, tally = run_plainly(make_table(), release, tmp_path)
    with run_cluster(tmp_path) as address:
        command = [sys.executable, "-m", "tests.engines.spark_cluster", address, str(tmp_path)]
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    attempts = [tmp_path / f"task-0-attempt-{number}" for number in range(2)]
    assert len({attempt.read_text("utf-8") for attempt in attempts}) == 2
    assert pq.read_table(tmp_path / "private").sort_by("id").to_pylist() == plain.to_pylist()
    assert merge_tallies(tmp_path / "tallies") == tally


def test_a_lazy_table_that_is_read_again(spark, release, tmp_path):
    """What is read again in the same parts counts once; what was cut in other parts is refused."""
    plain, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    new = privatize_dataframe(make_dataframe(spark, 3), release, text="text", id="id", tallies=tmp_path / "tallies")
    assert new.count() == ROWS
    assert len(new.limit(2).collect()) == 2
    new.coalesce(1).write.parquet(str(tmp_path / "private"))
    written = spark.read.parquet(str(tmp_path / "private"))
    assert read_sorted(written.repartition(5)).to_pylist() == plain.to_pylist()
    assert merge_tallies(tmp_path / "tallies") == tally
    again = privatize_dataframe(make_dataframe(spark, 2), release, text="text", id="id", tallies=tmp_path / "tallies")
    assert read_sorted(again).to_pylist() == plain.to_pylist()
    with pytest.raises(InputError, match="does not count each of the 40 records of the run once"):
        merge_tallies(tmp_path / "tallies")


def test_half_a_table_has_no_certificate(spark, release, tmp_path):
    """A run that was not read to its end is refused."""
    df = make_dataframe(spark, 3)
    new = privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
    for use in (merge_tallies, lambda folder: make_certificate(release, folder)):
        with pytest.raises(InputError, match="has 0 of 40 records: write the whole private table first"):
            use(tmp_path / "tallies")
    new.count()
    with pytest.raises(InputError, match="is that of another release"):
        make_certificate(Release(MECHANISM, key=release.key, case="copy"), tmp_path / "tallies")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([*range(ROWS - 2), 0, 0], r"is not unique \(rows that repeat an id: 2\)\. Equal ids would share"),
        ([*range(ROWS - 1), None], "holds a null or a blank: give every row an id"),
    ],
)
def test_ids_that_are_not_unique(spark, release, tmp_path, ids, message):
    """Ids are looked at in the whole table, over all partitions, before anything is drawn."""
    df = make_dataframe(spark, 7, make_table(pa.array(ids, pa.int64())))
    with pytest.raises(InputError, match=message):
        privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
    assert not (tmp_path / "tallies").exists()


@pytest.mark.parametrize("expression", ["monotonically_increasing_id()", "uuid()", "rand()"])
def test_ids_that_are_made_anew(spark, release, expression):
    """Ids that Spark may make anew each time are refused, also behind a cache, which may lose them."""
    df = make_dataframe(spark).drop("id").withColumn("id", pyspark.sql.functions.expr(f"string({expression})"))
    for unstable in (df, df.filter("stars > 1").cache()):
        with pytest.raises(InputError, match="may differ when it is read again"):
            privatize_dataframe(unstable, release, text="text", id="id")
    stable = df.localCheckpoint()
    privatize_dataframe(stable, release, text="text", id="id")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "stars"}, "The column 'stars' of the DataFrame holds bigint, not text: convert it to strings."),
        ({"text": "place"}, "The column 'place' of the DataFrame holds struct<city:string>, not text"),
        ({"text": "place.city"}, "the DataFrame has no column 'place.city'. Its columns: 'id', 'text'"),
        ({"text": "TEXT"}, "the DataFrame has no column 'TEXT'. Its columns: 'id', 'text'"),
        ({"id": "key"}, "the DataFrame has no column 'key'. Its columns: 'id', 'text'"),
        ({"id": "text"}, "The column 'text' of the DataFrame cannot hold both texts and record ids"),
        (
            {"id": "share"},
            "The column 'share' of the DataFrame: Persons and records are named by texts or whole",
        ),
        ({"id": None}, "Under a key the noise follows the record's id: name the column of unique record ids"),
        ({"fresh": True}, "fresh=True asks Spark for new noise in every run, and a key for the same noise"),
    ],
)
def test_what_cannot_be_used(spark, release, options, message):
    """What is missing, of a wrong type, nested or at odds is named in one line, before any text is read."""
    df = make_dataframe(spark).selectExpr("*", "struct(text as city) as place", "id / 2 as share")
    with pytest.raises(InputError) as caught:
        privatize_dataframe(df, release, **({"text": "text", "id": "id"} | options))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_releases_that_spark_may_not_run(spark):
    """No key, and a key of bytes, are refused with the fix; so are what is no DataFrame, and a stream."""
    df = make_dataframe(spark)
    for release, message in (
        (Release(MECHANISM), "Spark may run a task twice, and without a key"),
        (Release(MECHANISM, key=bytes(32)), "Spark sends the release to other processes, and a key held as bytes"),
    ):
        with pytest.raises(InputError, match=message):
            privatize_dataframe(df, release, text="text", id="id")
    with pytest.raises(InputError, match="must be a DataFrame of a classic Spark session"):
        privatize_dataframe(make_table(), release, text="text", id="id")
    stream = spark.readStream.format("rate").load().selectExpr("value as id", "string(value) as text")
    with pytest.raises(InputError, match="A stream has no end"):
        privatize_dataframe(stream, Release(MECHANISM, key="seed:1"), text="text", id="id")


def test_fresh_noise(spark, tmp_path):
    """Fresh noise needs no ids and differs whenever the table is read; with ids its counts are kept too."""
    df, release = make_dataframe(spark, 2).drop("id"), Release(MECHANISM)
    new = privatize_dataframe(df, release, text="text", fresh=True)
    first, second = (sorted(str(row.text) for row in new.collect()) for _ in range(2))
    assert first != second
    with pytest.raises(InputError, match="Tallies count each record once, by its id"):
        privatize_dataframe(df, release, text="text", fresh=True, tallies=tmp_path / "tallies")
    df = make_dataframe(spark, 2)
    counted = privatize_dataframe(df, release, text="text", id="id", fresh=True, tallies=tmp_path / "tallies")
    assert counted.count() == counted.count() == ROWS
    assert make_certificate(release, tmp_path / "tallies").records == ROWS


class OwnMechanism(dn.TEM):
    """A mechanism of the user's program, which workers cannot import."""


def test_a_mechanism_of_the_program(spark):
    """A mechanism whose class stands in the program itself travels to the workers."""
    release = Release(OwnMechanism(MECHANISM.space, epsilon=1.0))
    new = privatize_dataframe(make_dataframe(spark), release, text="text", fresh=True)
    assert new.count() == ROWS


def test_columns_of_every_type_stay(spark, release, tmp_path):
    """Other columns of any type, their nulls and their names pass unchanged; what Spark says of columns does not."""
    df = make_dataframe(spark, 2).selectExpr(
        "string(id) as `an id`", "text as `a.b``c`", "cast(stars as decimal(9, 2)) as price",
        "timestamp_seconds(stars) as at", "date'2020-01-01' as day", "array(struct(text, stars)) as nested",
        "map('k', text) as pairs", "cast(text as binary) as raw", "if(stars = 2, null, stars) as gaps", "null as no",
        "parse_json('{\"a\": 1}') as json", "stars", "stars as Stars",
    )  # fmt: skip
    df = df.withMetadata("`a.b``c`", {"top": "london"}).withMetadata("gaps", {"labels": "london"})
    new = privatize_dataframe(df, release, text="a.b`c", id="an id")
    assert "london" not in new.schema.json()
    assert [(field.name, field.dataType, field.nullable) for field in new.schema] == [
        (field.name, field.dataType, field.nullable) for field in df.schema
    ]
    before, after = ({row[0]: row for row in table.collect()} for table in (df, new))
    assert before.keys() == after.keys()
    for name in set(df.columns) - {"a.b`c"}:
        place = df.columns.index(name)
        assert [repr(before[key][place]) for key in before] == [repr(after[key][place]) for key in before]
    plain, *_ = run_plainly(pa.table({"id": [*map(str, range(ROWS))], "a.b`c": TEXTS}), release, tmp_path, ("a.b`c",))
    assert [after[str(row["id"])][1] for row in plain.to_pylist()] == plain["a.b`c"].to_pylist()


def test_an_empty_dataframe(spark, release, tmp_path):
    """No rows are no rows, and their certificate counts none."""
    df = make_dataframe(spark).filter("stars > 9")
    new = privatize_dataframe(df, release, text="text", id="id", tallies=tmp_path / "tallies")
    assert new.count() == 0
    assert make_certificate(release, tmp_path / "tallies").records == 0


def test_a_key_that_workers_lack(spark, release, tmp_path):
    """A worker that cannot read the key fails with the one line that says so, and no text or key is in the error."""
    new = privatize_dataframe(make_dataframe(spark), release, text="text", id="id")
    (tmp_path / "release.key").unlink()
    with pytest.raises(Exception, match=r"release\.key") as caught:
        new.collect()
    assert "london" not in str(caught.value)
    assert bytes(range(32)).hex() not in str(caught.value)


def test_little_travels():
    """What is sent to the workers for a release over the default space is less than 10 kB."""
    release = Release(dn.TEM(dn.Space.glove(), epsilon=3.0), key="seed:1")
    function = PartitionPrivatizer(pack_release(release), make_layout("the DataFrame", "text", "id"))
    assert len(pyspark.cloudpickle.dumps((function, None))) < 10_000


class CountLoads:
    """Privatizes batches, and puts in their place its process and how many releases this has loaded."""

    def __init__(self, privatizer):
        self.privatizer = privatizer

    def __call__(self, batches):
        for batch in self.privatizer(batches):
            count = len(batch)
            yield pa.RecordBatch.from_pydict(
                {"pid": [os.getpid()] * count, "loads": [unpack_release.cache_info().misses] * count}
            )


def test_a_worker_loads_a_release_once(spark, release):
    """However many tasks a process runs, it unpacks the release once."""
    counter = CountLoads(PartitionPrivatizer(pack_release(release), make_layout("the DataFrame", "text", "id")))
    df = make_dataframe(spark, 7)
    before = {row.pid: row.loads for row in df.mapInArrow(counter, "pid long, loads long").collect()}
    after = {row.pid: row.loads for row in df.mapInArrow(counter, "pid long, loads long").collect()}
    assert set(before) & set(after)
    assert all(after[pid] == before[pid] for pid in set(before) & set(after))


@pytest.mark.parametrize(("text", "place"), [("note", 2), ("Note", 3)])
def test_names_that_differ_in_capitals(spark, release, tmp_path, text, place):
    """Spark does not tell capitals in names; columns are taken by their places, and the named one is released."""
    table = make_alike_table()
    plain, _, _ = run_plainly(table, release, tmp_path / "plain", (text,))
    df = spark.createDataFrame(table.to_pylist(), schema="id long, ID long, note string, Note string")
    rows = [tuple(row) for row in privatize_dataframe(df, release, text=text, id="id").collect()]
    assert [row[place] for row in sorted(rows)] == plain[text].to_pylist()
    for other in {0, 1, 2, 3} - {place}:
        assert [row[other] for row in sorted(rows)] == table.column(other).to_pylist()


def test_ids_are_identities(spark, release, tmp_path):
    """Ids that some program wrote as floats name the noise of the integers, and two spellings of one are repeated."""
    expected, _, tally = run_plainly(make_table(), release, tmp_path / "plain")
    df = make_dataframe(spark)
    for number, spelling in enumerate(("float(id)", "double(id)", "cast(id as decimal(9, 2))", "concat(id, '.0')")):
        folder = tmp_path / f"tallies-{number}"
        spelled = df.selectExpr(f"{spelling} as id", "text")
        new = privatize_dataframe(spelled, release, text="text", id="id", tallies=folder)
        found = sorted(new.collect(), key=lambda row: float(row.id))
        assert [row.text for row in found] == expected["text"].to_pylist()
        assert merge_tallies(folder) == tally
    repeated = df.selectExpr("if(id = 39, '7.0', string(id)) as id", "text")
    with pytest.raises(InputError, match=r"is not unique \(rows that repeat an id: 1\)"):
        privatize_dataframe(repeated, release, text="text", id="id")
