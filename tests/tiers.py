"""Run tiers of tests one after the other, and print what each took: `tiers.py [pytest's options] -- TIER ...`.

Every tier runs, also after one that failed: a long run shows all failures. Fails where any tier did.

Tests of Spark, of the servers and of the API server run side by side, a file at a time, each worker with servers and a
session of its own: they wait more than they compute, those of the API server most of all. Those of the chart and of the
cluster share one server, or the machine's network, and run one after the other.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from harness import classes


FOLDER = Path(__file__).parent
SLOWEST = ("--durations=20", "--durations-min=5")
"""Each tier prints its slowest tests."""
CORES = min(4, os.cpu_count() or 1)
WORKERS = {"spark": CORES, "services": CORES, "apiserver": CORES + 1}
"""Workers of the tiers whose tests run side by side; with more, tests with time limits would fail."""
SPREAD = ("--dist", "loadfile", "--no-loadscope-reorder")
OF_SPARK = {"spark", "services"}
"""Their tests start drivers by the dozen."""


def main(arguments: list[str]) -> int:
    """Run the tiers; 1 where one failed."""
    cut = arguments.index("--")
    options, tiers = arguments[:cut], arguments[cut + 1 :]
    failures = []
    for tier in tiers:
        print(f"== {tier}", flush=True)
        start = time.monotonic()
        code = subprocess.run(
            command(tier, options), env=os.environ | environment(tier), check=False
        ).returncode
        failures.append((tier, (time.monotonic() - start) / 60, code))
    print(f"\n{'tier':12}{'minutes':>8}  result")
    for tier, minutes, code in failures:
        print(f"{tier:12}{minutes:8.1f}  {'passed' if code == 0 else f'FAILED ({code})'}")
    print(f"{'all':12}{sum(minutes for _, minutes, _ in failures):8.1f}")
    return int(any(code for _, _, code in failures))


def command(tier: str, options: list[str]) -> list[str]:
    """The command line of one tier."""
    spread = ["-n", str(WORKERS[tier]), *SPREAD] if tier in WORKERS else []
    return [sys.executable, "-m", "pytest", *options, *spread, *SLOWEST, str(FOLDER / tier)]


def environment(tier: str) -> dict[str, str]:
    """What a tier's tests have beside the environment."""
    return classes.environment() if tier in OF_SPARK else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
