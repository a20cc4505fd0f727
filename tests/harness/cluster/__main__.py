"""`python -m harness.cluster up|down|load [ARCHIVE...]|status`: the test cluster from the command line.

`load` without an archive builds and loads all images of `harness.images`, under the names that the chart and k8s/dev ask
for.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mainstem import __version__

from harness.cluster.base import TestCluster
from harness.cluster.choose import cluster
from harness.errors import HarnessError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the action of the command line; return 1 after an error, and for `status` without a cluster."""
    parser = argparse.ArgumentParser(prog="python -m harness.cluster", description=__doc__)
    parser.add_argument("action", choices=("up", "down", "load", "status"))
    parser.add_argument("archive", nargs="*", type=Path, help="OCI or Docker archives, for load")
    words = parser.parse_args(argv)
    if words.archive and words.action != "load":
        parser.error("only load takes archives")
    try:
        return _act(cluster(_say), words.action, words.archive)
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _act(cluster: TestCluster, action: str, archives: list[Path]) -> int:
    began = time.monotonic()
    if action == "up":
        new = cluster.up()
        after = f"is up after {time.monotonic() - began:.1f} s" if new else "was up already"
        _say(f"the {cluster.provider} cluster {after}\nexport KUBECONFIG={cluster.kubeconfig}")
    elif action == "down":
        gone = cluster.down()
        after = f"is gone after {time.monotonic() - began:.1f} s" if gone else "was not there"
        _say(f"the {cluster.provider} cluster {after}")
    elif action == "load" and not archives:
        _load_all(cluster)
    elif action == "load":
        for archive in archives:
            began = time.monotonic()
            cluster.load(archive)
            _say(f"{archive.name} is loaded after {time.monotonic() - began:.1f} s")
    else:
        running = cluster.running()
        _say(f"the {cluster.provider} cluster is {'up' if running else 'not up'}")
        return 0 if running else 1
    return 0


def _load_all(cluster: TestCluster) -> None:
    from harness.images import NAMES, build

    for name in NAMES:
        began = time.monotonic()
        image = build(name)
        cluster.take(image)
        known = f"{image.reference.rpartition(':')[0]}:{'dev' if 'test' in image.reference else __version__}"
        cluster.name(image.reference, known)
        _say(f"{known} is loaded after {time.monotonic() - began:.1f} s")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
