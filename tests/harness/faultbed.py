"""One pipeline with every server of its own, for faults that strike while its driver runs."""

import shutil
from pathlib import Path
from typing import Self

from harness.driver import DriverProcess
from harness.faultservers import DOCUMENT, FaultServers


class FaultBed(FaultServers):
    """The servers, the records, and the driver, which is started again whenever it has ended, as the operator does.

    Attributes:
        starts: how many drivers were started.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.starts = 0
        self._driver: DriverProcess | None = None
        self.scratch = folder / "scratch"
        self.scratch.mkdir()

    def __enter__(self) -> Self:
        super().__enter__()
        self.postgres.secret(self.folder / "secrets", "postgres")
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()
        super().__exit__(*_exc)

    def driver(self) -> DriverProcess:
        """The running driver; a new one if none runs."""
        if self._driver is None or self._driver.process.poll() is not None:
            self.kill()
            env = {
                "AWS_ACCESS_KEY_ID": self.s3.access_key,
                "AWS_SECRET_ACCESS_KEY": self.s3.secret_key,
                "MAINSTEM_SECRETS": str(self.folder / "secrets"),
                "TMPDIR": str(self.scratch),
            }
            self.starts += 1
            self._driver = DriverProcess(DOCUMENT, self.folder / "run", sets=self.parameters, env=env)
        return self._driver

    def keep_running(self) -> None:
        self.driver()

    def diagnosis(self) -> str:
        return self.driver().stderr[-3000:]

    def kill(self) -> None:
        """SIGKILL to the driver; its scratch folder is emptied, as that of a pod is."""
        if self._driver is not None:
            self._driver.kill()
            self._driver = None
        for entry in self.scratch.iterdir():
            shutil.rmtree(entry, ignore_errors=True)
