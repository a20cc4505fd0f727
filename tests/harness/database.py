"""What the database servers of the test bed have in common: one user with a password of its own, and a data folder."""

import secrets
from pathlib import Path

from harness.process import free_port
from harness.server import Server


class DatabaseServer(Server):
    """A database server with one database and one user, who logs in with a password of this server's own.

    A subclass sets `process`, creates the data in `_init`, and answers `_ready`.
    """

    username = "mainstem"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.password = secrets.token_hex(20)
        self.port = free_port()
        self._data = self.folder / "data"

    def start(self) -> None:
        """Start the server and wait until it answers a query; the first start creates the data."""
        if not self._data.exists():
            self._init()
        super().start()

    def secret(self, folder: Path, name: str) -> None:
        """Write the user's credentials as the secret `name` below `folder`, as `$MAINSTEM_SECRETS` wants it."""
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "username").write_text(self.username)
        (folder / name / "password").write_text(self.password)

    def _init(self) -> None:
        raise NotImplementedError
