"""`mainstem-decommission`: the command that the kubelet runs in an executor's pod before it ends the pod.

On SIGPWR Spark's executor migrates its shuffle blocks and then ends. The kubelet waits for this command, at most for the
pod's grace period.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from mainstem.runtime.clock import Clock


BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
POLL: Final = 0.2


def main(marker: str = BACKEND) -> None:
    """Send SIGPWR to every process of this container whose command line has the marker, and wait until they have ended."""
    for pid in list(_running(marker)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGPWR)
    clock = Clock()
    while any(_running(marker)):
        clock.sleep(POLL)


def _running(marker: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # the process has just ended, or belongs to another user
            if marker.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


if __name__ == "__main__":
    main()
