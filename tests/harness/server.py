"""What every server of the test bed has in common: a folder of its own and one process that tests kill and start again."""

import shutil
import tempfile
from pathlib import Path
from typing import Self

from harness.process import Process


class Server:
    """A server on 127.0.0.1 with its own temporary folder; its port and data stay over kill, stop and start.

    As a context manager it is started on entry; on exit it is ended and its folder removed.
    """

    process: Process

    def __init__(self, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"mainstem-{name}-"))

    def start(self) -> None:
        """Start the server and wait until it answers; its data and port are those of the start before, if any.

        :raises HarnessError: when it dies or does not answer in time, with the end of its log.
        """
        self.process.start(self._ready)

    def stop(self) -> None:
        """End the server in good order."""
        self.process.stop()

    def kill(self) -> None:
        """End the server as `kill -9` does."""
        self.process.kill()

    def restart(self) -> None:
        """Stop the server, if it runs, and start it on the same data and port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and remove its folder with all data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ready(self) -> bool:
        raise NotImplementedError
