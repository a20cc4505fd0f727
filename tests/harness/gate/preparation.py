"""Builds what tiers need while the tiers before them run, which need less."""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cache import tail


@dataclass
class Preparation:
    """One run of make beside the first tiers.

    Attributes:
        root: of the checkout.
        targets: of make; none needs no run.
        log: gets the output, which is shown only if the run fails.
    """

    root: Path
    targets: Sequence[str]
    log: Path
    _make: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start the run; tests that run beside it go first."""
        if self.targets:
            with self.log.open("w") as text:
                self._make = subprocess.Popen(
                    ["nice", "-n", "10", "make", *self.targets],
                    cwd=self.root,
                    stdout=text,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def error(self) -> str | None:
        """Wait for the end of the run: why it failed, or None."""
        if self._make is None:
            return None
        code = self._make.wait()
        return f"make {' '.join(self.targets)} failed:\n{tail(self.log)}" if code else None

    def stop(self) -> None:
        """End a run that nobody waits for, with all that it started."""
        if self._make is not None and self._make.poll() is None:
            os.killpg(self._make.pid, signal.SIGTERM)
            self._make.wait()
