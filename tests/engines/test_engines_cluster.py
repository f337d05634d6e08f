"""Spark beyond one process: a standalone master with two workers, and a server of Spark Connect.

Each is a process of its own that listens on the loopback interface and is ended with the test.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, KeySet, Number, Query, Summing
from discreet.releases.engines.duckdb import DuckDB

pyspark = pytest.importorskip("pyspark")

HOME = Path(pyspark.__file__).parent
WAIT = 120.0
CELLS = KeySet(("k",), (("a",), ("b",)))
BOUNDS = Contribution(rows=3, groups=3, rows_per_group=3)
VALUE = Number("v", 0, 100, Fraction(1, 10))

pytestmark = [
    pytest.mark.soak,
    pytest.mark.xdist_group("spark_running"),
]


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _listens(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("a process of Spark did not start")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A master and two workers; yields the master's URL and the folder of the workers."""
    folder = tmp_path_factory.mktemp("cluster")
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(kind: str, *more: str) -> subprocess.Popen[bytes]:
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        command += ["--host", "127.0.0.1", "--webui-port", "0", *more]
        started.append(
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return started[-1]

    try:
        port, ports = _free(), [_free(), _free()]
        _listens(port, start("master.Master", "--port", str(port)))
        url = f"spark://127.0.0.1:{port}"
        for number, own in enumerate(ports):
            place = str(folder / f"worker-{number}")
            more = ("--cores", "1", "--memory", "1g", "--work-dir", place, "--port", str(own))
            _listens(own, start("worker.Worker", *more, url))
        yield url, folder
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Rows of units that are whole numbers, and the same units as texts."""
    drawn = random.Random(7)  # noqa: S311
    units = [drawn.choice([None, *range(-300, 300)]) for _ in range(5_000)]
    return pa.table(
        {
            "k": [drawn.choice("ab") for _ in units],
            "u": pa.array(units, pa.int64()),
            "name": pa.array([None if u is None else f"unit {u}" for u in units], pa.string()),
            "priority": [drawn.random() for _ in units],
            "v": [drawn.uniform(-1, 12) for _ in units],
        }
    )


def _asked(unit: str) -> Query:
    measures = (Counting("n"), Summing("s", VALUE))
    return Query((unit,), CELLS, BOUNDS, measures, priority="priority")


SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_engines_cluster import _asked
from discreet.releases.engines import spark
spark.ONE_TASK = 0  # or one task of one worker would do
engine = spark.Spark.open("spark://t.parquet", Path(sys.argv[2]).joinpath)
found = {unit: engine.measure(_asked(unit)) for unit in ("u", "name")}
print(json.dumps([found, engine._sorting]))
engine.close()
"""


def _run(
    script: str, folder: Path, *, timeout: float, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a script with a Spark of its own, in the folder that has the rows."""
    own = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        # A place for each of two hundred parts of so few rows takes minutes.
        "SPARK_SUBMIT_OPTS": "-Dspark.sql.shuffle.partitions=4 -XX:TieredStopAtLevel=1",
    }
    return subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent), str(folder)],
        cwd=folder,
        env={**os.environ, **own, **more},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _same(done: subprocess.CompletedProcess[str], rows: pa.Table) -> None:
    assert done.returncode == 0, done.stderr
    found, sorting = json.loads(done.stdout.splitlines()[-1])
    assert sorting  # the workers have NumPy and PyArrow
    expected: dict[str, Any] = {}
    engine = DuckDB.of(rows)
    for unit in ("u", "name"):
        expected[unit] = engine.measure(_asked(unit))
    engine.close()
    assert found == expected


def test_two_workers_of_a_standalone_master_give_the_same_integers(
    cluster: tuple[str, Path], rows: pa.Table, tmp_path: Path
) -> None:
    """In a process of its own: the session of other tests is another master's."""
    url, folder = cluster
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=500)
    _same(_run(SCRIPT, tmp_path, timeout=400, SPARK_MASTER=url), rows)
    # Each worker has run an executor of this application.
    assert all(any((folder / f"worker-{n}").glob("app-*/*")) for n in (0, 1))


def test_a_session_of_spark_connect_gives_the_same_integers(rows: pa.Table, tmp_path: Path) -> None:
    """The server is started by the client, and ends with it. The client does end: no session of
    ours is left open."""
    pytest.importorskip("grpc")
    connect = pytest.importorskip("pyspark.sql.connect.session")
    if not hasattr(connect.SparkSession, "newSession"):
        pytest.skip("this Spark Connect cannot open a second session")
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=500)
    remote = "from pyspark.sql import SparkSession\n"
    remote += "SparkSession.builder.remote('local[2]').getOrCreate()\n"
    _same(_run(remote + SCRIPT, tmp_path, timeout=120), rows)
