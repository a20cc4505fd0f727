import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from pg8000.exceptions import InterfaceError
from pg8000.native import Connection, DatabaseError

from harness.cache import tail
from harness.database import DatabaseServer
from harness.errors import HarnessError
from harness.process import Process


_INSTALLED = Path("/usr/lib/postgresql")  # where Debian keeps the servers, one folder per version
_UNPRIVILEGED = "postgres"  # the user that Debian's package brings; the server refuses to run as root


class Postgres(DatabaseServer):
    """A real PostgreSQL server with one database and one user, who logs in with a password of this server's own."""

    database = "postgres"

    def __init__(self) -> None:
        self._bin = _newest_bin()
        super().__init__("postgres")
        self._as_user = _without_root(self.folder)
        settings = [
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self.folder}",
            "fsync=off",  # what is written survives kill -9 of the server; only the machine's own crash would lose it
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        self.process = Process(
            [*self._as_user, self._bin / "postgres", "-D", self._data, *options], self.folder / "postgres.log"
        )

    @property
    def url(self) -> str:
        """The JDBC URL of the database, without credentials."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def stop(self) -> None:
        """End the server in good order; clients are sent away rather than waited for."""
        if self.process.alive:
            self.process.send(signal.SIGINT)
        super().stop()

    def run(self, sql: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement, committed, and return its rows; `:name` in it is the parameter of that name.

        :raises DatabaseError: when the server refuses it.
        """
        connection = self.connect()
        try:
            return [tuple(row) for row in connection.run(sql, **parameters) or ()]
        finally:
            connection.close()

    def connect(self) -> Connection:
        """A connection of one's own, for locks and transactions: pg8000's native interface."""
        return Connection(
            self.username, password=self.password, host="127.0.0.1", port=self.port, database=self.database
        )

    def _init(self) -> None:
        password = self.folder / "password"
        password.write_text(self.password)
        argv = [*self._as_user, self._bin / "initdb", "-D", self._data, "-U", self.username]
        argv += ["--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        with self.process.log.open("w") as log:
            done = subprocess.run(argv, cwd=self.folder, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise HarnessError(f"cannot make the database:\n{tail(self.process.log)}")

    def _ready(self) -> bool:
        try:
            return self.run("SELECT 1") == [(1,)]
        except (InterfaceError, DatabaseError, OSError):  # nobody listens yet, or the server is starting up
            return False


def _newest_bin() -> Path:
    servers = [path for path in _INSTALLED.glob("*/bin/initdb") if path.parent.parent.name.isdigit()]
    if not servers:
        raise HarnessError(f"no PostgreSQL server in {_INSTALLED}: apt-get install postgresql")
    return max(servers, key=lambda path: int(path.parent.parent.name)).parent


def _without_root(folder: Path) -> list[str | Path]:
    """The prefix of a command that runs as the owner of `folder`; empty unless this is root."""
    if os.geteuid() != 0:
        return []
    shutil.chown(folder, _UNPRIVILEGED, _UNPRIVILEGED)
    # The kernel forgets the parent-death signal when the user changes, so it is asked for anew.
    user = [f"--reuid={_UNPRIVILEGED}", f"--regid={_UNPRIVILEGED}", "--init-groups"]
    return ["setpriv", *user, "--pdeathsig", "KILL", "--"]
