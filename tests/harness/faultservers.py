"""Kafka, an S3 store and PostgreSQL for a pipeline that faults strike, and every record that its sinks have."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from harness.checkpoints import data_files, logged_files, logged_rows, newest
from harness.errors import HarnessError
from harness.kafka import Broker
from harness.postgres import Postgres
from harness.process import Process
from harness.records import Record
from harness.s3 import S3Server
from harness.tcpproxy import TcpProxy
from harness.waiting import asked


DOCUMENT = Path(__file__).parents[1] / "documents" / "faults.yaml"
QUERIES = ("table", "folder", "ledger", "counts")
BUCKET = "faults"
TOPIC = "faults"
KEYS = 20
PORTION = 500
"""Records that come before and after each fault: two batches."""
PATIENCE = 420.0
"""Seconds until all is written after a fault, on a machine that does other things too."""


class FaultServers:
    """The servers of `tests/documents/faults.yaml`, the records, and what the sinks have.

    Args:
        folder: an empty folder.
        host: the address of this machine at which the drivers reach the servers.

    Attributes:
        kafka, postgres, s3: the servers.
        store, database: proxies before S3 and PostgreSQL; the drivers know only these.
        records: how many records the topic has; their numbers are 0 to records - 1.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder, self.host = folder, host
        self.kafka, self.postgres, self.s3 = Broker(host), Postgres(), S3Server()
        self.store = TcpProxy(int(self.s3.endpoint.rpartition(":")[2]), host)
        self.database = TcpProxy(self.postgres.port, host)
        self.records = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for server in (self.kafka, self.postgres, self.s3, self.store, self.database):
                stack.enter_context(server)
            self.kafka.create_topic(TOPIC, 2)
            self.s3.make_bucket(BUCKET)
            self.postgres.run("CREATE TABLE faults_ledger (number BIGINT, key BIGINT)")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    @property
    def lake(self) -> Path:
        """The bucket as a folder."""
        return self.s3.root / BUCKET

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints, one of each query."""
        return self.lake / "checkpoints"

    @property
    def servers(self) -> dict[str, Process]:
        """The processes of the servers that faults stop."""
        return {"kafka": self.kafka.process, "postgres": self.postgres.process}

    @property
    def parameters(self) -> dict[str, str]:
        """The document's parameters."""
        return {
            "brokers": self.kafka.bootstrap_servers,
            "database": f"jdbc:postgresql://{self.host}:{self.database.port}/{self.postgres.database}",
            "store": f"http://{self.host}:{self.store.port}",
            "topic": TOPIC,
        }

    def feed(self, count: int = PORTION) -> None:
        """Another portion of records, a multiple of the number of keys."""
        numbers = range(self.records, self.records + count)
        values = (json.dumps({"number": number, "key": number % KEYS}).encode() for number in numbers)
        self.kafka.produce(
            TOPIC, [Record(None, value, partition=place % 2) for place, value in enumerate(values)]
        )
        self.records += count

    def keep_running(self) -> None:
        """Start the driver if it has ended and nobody else starts it."""

    def diagnosis(self) -> str:
        """What a failed test shows of the driver."""
        return ""

    def caught_up(self) -> float:
        """Wait until every record is in every sink; the seconds that it took.

        Raises:
            HarnessError: it did not happen in time; with what is missing and what is known of the driver.
        """
        begun = time.monotonic()

        def complete() -> bool:
            if not self.missing():
                return True
            self.keep_running()
            return False

        if not asked(PATIENCE, complete, 0.2):
            raise HarnessError(
                f"after {PATIENCE:g} s records are missing: {self.missing()}\n{self.diagnosis()}"
            )
        return time.monotonic() - begun

    def missing(self) -> dict[str, int]:
        """Sink -> records that it lacks; only sinks that lack some."""
        lacking = {name: self.records - len(rows()) for name, rows in self._sinks().items()}
        return {name: count for name, count in lacking.items() if count > 0}

    def check(self) -> None:
        """Every record is in every sink exactly once."""
        expected = list(range(self.records))
        for name, rows in self._sinks().items():
            assert sorted(rows()) == expected, name
        folder = self.lake / "folder"
        assert data_files(folder) == logged_files(folder), "files that only a reader without Spark's log sees"

    def newest(self, query: str, log: str) -> int:
        """The newest batch in `offsets` or `commits` of a query's checkpoint."""
        return newest(self.checkpoints / query / "1" / log)

    def in_a_batch(self) -> bool:
        """Whether a batch of a query is planned and not committed."""
        return any(
            self.newest(query, "offsets") > self.newest(query, "commits") for query in ("table", "ledger")
        )

    def _sinks(self) -> dict[str, Callable[[], list[int]]]:
        return {
            "Delta": self._table,
            "Parquet": self._folder,
            "PostgreSQL": self._ledger,
            "state": self._counts,
        }

    def _table(self) -> list[int]:
        return self._delta("table", "number")

    def _folder(self) -> list[int]:
        return [row["number"] for row in logged_rows(self.lake / "folder")]

    def _ledger(self) -> list[int]:
        return [number for (number,) in self.postgres.run("SELECT number FROM faults_ledger")]

    def _counts(self) -> list[int]:
        """As many numbers as records were counted; each key has the same number of records."""
        rows = self._delta("counts", "records")
        return list(range(sum(rows))) if len(set(rows)) <= 1 else rows

    def _delta(self, name: str, column: str) -> list[int]:
        try:
            table = DeltaTable(str(self.lake / name)).to_pyarrow_table(columns=[column])
        except TableNotFoundError:
            return []
        return list(table[column].to_pylist())
