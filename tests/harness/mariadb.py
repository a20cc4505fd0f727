import os
import shutil
import subprocess

from harness.cache import tail
from harness.database import DatabaseServer
from harness.errors import HarnessError
from harness.process import Process


class MariaDb(DatabaseServer):
    """A real MariaDB server with one database and one user, who logs in with a password of this server's own."""

    database = "shop"

    def __init__(self) -> None:
        super().__init__("mariadb")
        self._user = ["--user=root"] if os.geteuid() == 0 else []
        options = [
            "--no-defaults",
            *self._user,
            f"--datadir={self._data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={self.folder}/mariadb.sock",
            f"--pid-file={self.folder}/mariadb.pid",
            "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=2",
        ]
        self.process = Process([_found("mariadbd"), *options], self.folder / "mariadb.log")

    @property
    def url(self) -> str:
        """The JDBC URL of the database for MariaDB's own driver and Spark's dialect of MySQL, without credentials."""
        return f"jdbc:mysql://127.0.0.1:{self.port}/{self.database}?permitMysqlScheme"

    def run(self, sql: str) -> list[tuple[str, ...]]:
        """Run statements and return the rows of the last one, each value as text.

        :raises HarnessError: when the server refuses one, or does not answer.
        """
        argv = [_found("mariadb"), "--no-defaults", "--batch", "--skip-column-names", "--protocol=tcp"]
        argv += ["--host=127.0.0.1", f"--port={self.port}", f"--user={self.username}", self.database]
        environment = os.environ | {"MYSQL_PWD": self.password}
        done = subprocess.run(argv, input=sql, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HarnessError(done.stderr.strip())
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]

    def _init(self) -> None:
        self._data.mkdir()
        grants = (
            f"CREATE DATABASE {self.database};\n"
            f"GRANT ALL ON *.* TO '{self.username}'@'127.0.0.1' IDENTIFIED BY '{self.password}';\n"
        )
        for argv, given in (
            (
                [_found("mariadb-install-db"), "--auth-root-authentication-method=normal", "--skip-test-db"],
                "",
            ),
            ([_found("mariadbd"), "--bootstrap"], f"USE mysql;\nFLUSH PRIVILEGES;\n{grants}"),
        ):
            command = [argv[0], "--no-defaults", *self._user, f"--datadir={self._data}", *argv[1:]]
            with self.process.log.open("a") as log:
                done = subprocess.run(command, input=given, text=True, stdout=log, stderr=log, check=False)
            if done.returncode:
                raise HarnessError(f"cannot make the database:\n{tail(self.process.log)}")

    def _ready(self) -> bool:
        try:
            return self.run("SELECT 1") == [("1",)]
        except HarnessError:  # nobody listens yet
            return False


def _found(program: str) -> str:
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/bin")
    if path is None:
        raise HarnessError(f"no {program}: apt-get install mariadb-server-core mariadb-client-core")
    return path
