"""Build the tools of the test bed in advance: `python -m harness.build [kafka|versitygw|etcd|kubernetes|... ...]`, all by default."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from harness import gotools, kafkajars
from harness.cache import Built
from harness.errors import HarnessError


TOOLS: dict[str, Callable[[], Built]] = {
    "kafka": kafkajars.build,
    "versitygw": gotools.VERSITYGW.build,
    "etcd": gotools.ETCD.build,
    "kubernetes": gotools.kubernetes().build,
    "coredns": gotools.COREDNS.build,
    "pause": gotools.PAUSE.build,
    "helm": gotools.HELM.build,
    "gitops": gotools.GITOPS.build,
    "kindconfig": gotools.KINDCONFIG.build,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Build the named tools one after the other, print a line for each, return 1 when one failed."""
    parser = argparse.ArgumentParser(prog="python -m harness.build", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="tool", help=f"one of {', '.join(TOOLS)}")
    names: list[str] = parser.parse_args(argv).tools or list(TOOLS)
    if unknown := sorted(set(names) - set(TOOLS)):
        parser.error(f"no such tool: {', '.join(unknown)}")
    return max(_report(name) for name in names)


def _report(name: str) -> int:
    start = time.monotonic()
    try:
        built = TOOLS[name]()
    except HarnessError as error:
        sys.stderr.write(f"{name:12} failed\n{error}\n")
        return 1
    state = "cached" if built.cached else "built"
    sys.stdout.write(f"{name:12} {state:6} {time.monotonic() - start:6.1f} s  {built.path}\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
