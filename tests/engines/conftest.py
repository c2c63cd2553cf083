"""Hosts, the plain run of the command line beside them, and one session of Spark and one cluster of Ray a test run."""

import json
import os
import shutil
import sys
import tempfile

import numpy as np
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.commands import run
from tests.engines.helpers import CLUSTERS, HOSTS, ON_CLUSTERS
from tests.text.helpers import MECHANISM, SPACE


@pytest.fixture(scope="session")
def run_plainly(tmp_path_factory):
    """Return a function that releases a table on the command line: it gives the cells and the certificate."""
    folder = tmp_path_factory.mktemp("plain")
    np.savez(folder / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)

    def running(table, columns=("text",), *options, key=("--key", "seed:7")):
        pq.write_table(table, folder / "in.parquet")
        named = [part for name in columns for part in ("--column", name)]
        basic = [
            "--space",
            folder / "space.npz",
            "--hide",
            "none",
            "--metric",
            "euclidean",
            "--mechanism",
            "tem",
            "--epsilon",
            "1",
            "--id",
            "id",
        ]
        target = folder / "out.parquet"
        result = run("privatize", folder / "in.parquet", "-o", target, "--force", *basic, *named, *key, *options)
        assert result.code == 0
        certificate = json.loads((folder / "out.parquet.certificate.json").read_text("utf-8"))
        del certificate["space"]  # which is in a file there
        return pq.read_table(target).to_pydict(), certificate

    return running


@pytest.fixture(params=[*(name for name in HOSTS if name not in CLUSTERS), *ON_CLUSTERS])
def host(request):
    """Return each host in turn, skipped where it is not installed."""
    one = HOSTS[request.param]
    pytest.importorskip(one.package, reason=f"{one.package} is not installed")
    if request.param in CLUSTERS:
        request.getfixturevalue(f"{request.param}_session")
    if one.package == "datasets":
        sys.modules["datasets"].disable_progress_bars()
    return one


@pytest.fixture
def no_draws(monkeypatch):
    """Fail where a text is drawn."""
    monkeypatch.setattr(dn.Release, "privatize_cells", lambda *_, **__: pytest.fail("drew"))


@pytest.fixture
def file_release(tmp_path):
    """Return a release under a key in a file, which workers can read."""
    path = tmp_path / "release.key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return dn.Release(MECHANISM, key=f"file:{path}")


@pytest.fixture(scope="session")
def ray_session():
    """Start a cluster on this machine, which tells nobody of it; nothing of it is left running."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'deniable[ray]'")
    data = pytest.importorskip("ray.data", reason="ray's data sets are not installed: pip install 'deniable[ray]'")
    folder = tempfile.mkdtemp(prefix="ray-")  # sockets need a short path
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
            yield ray
        finally:
            ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory):
    """Return a session of two tasks at a time, each tried up to four times; nothing of it is left running."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'deniable[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
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
    gateway.proc.wait(timeout=120)
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    del os.environ["PYSPARK_PYTHON"]
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before
