"""`mainstem-decommission`: the command that the kubelet runs in an executor's pod before it ends the pod.

Spark's executor hands its shuffle blocks over on SIGPWR and ends by itself; the kubelet waits for this command, as long
as the pod's grace period is.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final


BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
POLL: Final = 0.2


def main(marker: str = BACKEND) -> None:
    """Ask every process of this container whose command line has the marker to decommission, and wait until it has
    ended.
    """
    for pid in list(_running(marker)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGPWR)
    while any(_running(marker)):
        time.sleep(POLL)


def _running(marker: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # it has just ended, or is another user's
            if marker.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


if __name__ == "__main__":
    main()
