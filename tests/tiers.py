"""Runs tiers of tests, the cheapest first, and prints what each took: `tiers.py [--all] [pytest's options] -- TIER ...`.

A tier that fails ends the run, and properties have the same examples in each run. With `--all`, as in `make test-full`,
the others run on, and properties draw other examples. A failed test is repeated once, alone and in
a fresh process: if it passes then, it is unstable. The run stays green with up to three of them, and
`build/unstable.txt` lists them.

Tests run side by side, a file at a time, each worker with servers and a session of its own; those of the cluster, of which
the machine has one, run in one worker. Tiers that are joined by `+` share workers: a JVM that has run hundreds of queries runs
those of the next tier in half the time, and tests of the API server compute while those of the chart and of the cluster wait.
"""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from harness import classes
from harness.fixtures import PROPERTIES
from harness.gate import closing
from harness.gate.tier_runs import Gate, Tier
from harness.gotools import SPARING


ROOT = Path(__file__).resolve().parents[1]
UNSTABLE = ROOT / "build" / "unstable.txt"
CORES = min(4, os.cpu_count() or 1)
TIERS = {
    tier.name: tier
    for tier in (
        Tier("unit", workers=CORES),
        Tier("spark", workers=CORES, environment=classes.environment),
        Tier("chart", targets=("servers",)),
        Tier("apiserver", targets=("servers",), workers=CORES + 1),
        Tier("services", targets=("servers", "wheels"), workers=CORES, environment=classes.environment),
        Tier("cluster", targets=("images",)),
    )
}
"""The cheapest first: what the later ones need is built beside the first, which needs no server."""


def joined(names: Sequence[str]) -> Tier:
    """One tier of several, whose tests run in the same processes, with what any of them needs."""
    tiers = [TIERS[name] for name in names]

    def environment() -> dict[str, str]:
        return {name: value for tier in tiers for name, value in tier.environment().items()}

    targets = dict.fromkeys(target for tier in tiers for target in tier.targets)
    return Tier("+".join(names), tuple(targets), max(tier.workers for tier in tiers), environment)


def main(arguments: list[str]) -> int:
    """Run the tiers; 1 if any failed. `SEED` in the environment repeats the order of an earlier run."""
    cut = arguments.index("--")
    options, names = arguments[:cut], arguments[cut + 1 :]
    for name, value in SPARING.items():
        os.environ.setdefault(name, value)
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
    gate = Gate(ROOT, [option for option in options if option != "--all"], seed, "--all" in options)
    properties = os.environ.setdefault(PROPERTIES, "random" if gate.keep_going else "same")
    passed = gate.run([joined(name.split("+")) for name in names])
    print(f"\n{closing.table(gate.runs)}\n\nslowest:\n{closing.slowest(gate.runs)}")
    unstable = closing.unstable(gate.runs)
    UNSTABLE.write_text(unstable and f"{unstable}\n")
    if unstable:
        print(f"\nunstable, to be mended first (seed {seed}):\n{unstable}")
    if not passed:
        print(f"\n{closing.red(gate.runs, seed, properties)}")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
