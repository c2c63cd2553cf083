"""A Spark cluster of two hosts on this machine, and the program that its test runs on it.

Spark copies a slow task to another host alone: here two workers have two of the machine's own addresses.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HOSTS = ("127.0.0.1", "127.0.0.2")
_SLEEP_SECONDS = 60
_START_SECONDS = 120


def has_two_hosts():
    """Say whether this machine answers to both addresses, as Linux does."""
    for host in HOSTS:
        with socket.socket() as listener:
            try:
                listener.bind((host, 0))
            except OSError:
                return False
    return True


@contextlib.contextmanager
def run_daemon(folder, expected, *arguments):
    """Run a master or a worker, and yield what its log says when it is ready."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(home / "bin" / "spark-class"), *arguments, "--port", "0", "--webui-port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        timer = threading.Timer(_START_SECONDS, process.kill)
        timer.start()
        try:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if match := re.search(expected, line):
                    break
            else:
                raise AssertionError("".join(lines))
            timer.cancel()
            threading.Thread(target=process.stdout.read, daemon=True).start()
            yield match[0]
        finally:
            timer.cancel()
            process.terminate()
            process.wait(timeout=30)


@contextlib.contextmanager
def run_cluster(folder):
    """Yield the address of a master with a worker of one core on each host."""
    package = "org.apache.spark.deploy"
    with contextlib.ExitStack() as daemons:
        master = run_daemon(folder, r"spark://127\.0\.0\.1:\d+", f"{package}.master.Master", "--host", HOSTS[0])
        address = daemons.enter_context(master)
        for host in HOSTS:
            options = (f"{package}.worker.Worker", address, "--host", host, "--cores", "1", "--memory", "700m")
            daemons.enter_context(run_daemon(folder, "Successfully registered", *options, "--work-dir", str(folder)))
        yield address


class SlowFirstAttempt:
    """Passes batches on, and notes each attempt at a task; the first at one task then sleeps until it is killed."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, batches):
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        task, attempt = context.partitionId(), context.attemptNumber()
        (Path(self.folder) / f"task-{task}-attempt-{attempt}").write_text(os.environ["SPARK_EXECUTOR_DIRS"], "utf-8")
        if (task, attempt) == (0, 0):
            time.sleep(_SLEEP_SECONDS)


def privatize_with_copies(address, folder):
    """Privatize in.parquet into a folder private, with counts in a folder tallies."""
    from pyspark.sql import SparkSession

    from deniable import Release
    from deniable.engines.spark import privatize_dataframe
    from tests.text.helpers import MECHANISM

    options = {
        "spark.driver.host": HOSTS[0],
        "spark.driver.bindAddress": HOSTS[0],
        "spark.executor.memory": "512m",
        "spark.local.dir": str(folder),
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(address)
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    df = session.read.parquet(str(folder / "in.parquet")).repartition(4, "id")
    release = Release(MECHANISM, key=f"file:{folder / 'release.key'}")
    new = privatize_dataframe(df, release, text="text", id="id", tallies=folder / "tallies")
    new.mapInArrow(SlowFirstAttempt(str(folder)), new.schema).write.parquet(str(folder / "private"))
    session.stop()


if __name__ == "__main__":
    privatize_with_copies(sys.argv[1], Path(sys.argv[2]))
