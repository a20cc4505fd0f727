"""Builds what tiers need while the tiers before them run, which need less."""

import os
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from harness.cache import tail


@dataclass
class Preparation:
    """Runs of make beside the first tiers, one for each target.

    Attributes:
        root: of the checkout.
        targets: of make, in the order in which tiers need them; none needs no run.
        log: gets the output, which is shown only if a run fails.
    """

    root: Path
    targets: Sequence[str]
    log: Path
    _errors: dict[str, Future[str | None]] = field(default_factory=dict, init=False)
    _make: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _stopped: Event = field(default_factory=Event, init=False)
    _builder: Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the first run; tests that run beside it go first."""
        self.log.unlink(missing_ok=True)
        self._errors = {target: Future() for target in self.targets}
        self._builder = Thread(target=self._build, daemon=True)
        self._builder.start()

    def error(self, targets: Sequence[str]) -> str | None:
        """Wait until these targets are built: why the first of them failed, or None."""
        return next((error for target in targets if (error := self._errors[target].result())), None)

    def stop(self) -> None:
        """End what nobody waits for, with all that it started."""
        self._stopped.set()
        self._end()
        if self._builder is not None:
            self._builder.join()

    def _build(self) -> None:
        for target, error in self._errors.items():
            error.set_result("the run ends" if self._stopped.is_set() else self._error_of(target))

    def _error_of(self, target: str) -> str | None:
        with self.log.open("a") as text:
            self._make = subprocess.Popen(
                ["nice", "-n", "10", "make", target],
                cwd=self.root,
                stdout=text,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if self._stopped.is_set():  # between the two
            self._end()
        return f"make {target} failed:\n{tail(self.log)}" if self._make.wait() else None

    def _end(self) -> None:
        if self._make is not None and self._make.poll() is None:
            os.killpg(self._make.pid, signal.SIGTERM)
