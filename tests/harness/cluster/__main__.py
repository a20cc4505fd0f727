"""`python -m harness.cluster up|down|load ARCHIVE...|status`: the test cluster from the command line."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from harness.cluster.base import Cluster
from harness.cluster.choose import cluster
from harness.errors import HarnessError


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the words say; return 1 after an error, and for `status` when there is no cluster."""
    parser = argparse.ArgumentParser(prog="python -m harness.cluster", description=__doc__)
    parser.add_argument("action", choices=("up", "down", "load", "status"))
    parser.add_argument("archive", nargs="*", type=Path, help="OCI or Docker archives, for load")
    words = parser.parse_args(argv)
    if bool(words.archive) != (words.action == "load"):
        parser.error("load takes archives, the others take none")
    try:
        return _act(cluster(_say), words.action, words.archive)
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _act(found: Cluster, action: str, archives: list[Path]) -> int:
    began = time.monotonic()
    if action == "up":
        new = found.up()
        after = f"is up after {time.monotonic() - began:.1f} s" if new else "was up already"
        _say(f"the {found.provider} cluster {after}\nexport KUBECONFIG={found.kubeconfig}")
    elif action == "down":
        gone = found.down()
        after = f"is gone after {time.monotonic() - began:.1f} s" if gone else "was not there"
        _say(f"the {found.provider} cluster {after}")
    elif action == "load":
        for archive in archives:
            began = time.monotonic()
            found.load(archive)
            _say(f"{archive.name} is loaded after {time.monotonic() - began:.1f} s")
    else:
        running = found.running()
        _say(f"the {found.provider} cluster is {'up' if running else 'not up'}")
        return 0 if running else 1
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
