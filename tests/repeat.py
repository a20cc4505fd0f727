"""Runs tests again and again beside a load on each core, each time with another seed: `repeat.py N TEST ...`.

Ends at the first run that fails, and prints the command that repeats it. `SEED` in the environment is the first seed.
"""

import os
import random
import subprocess
import sys

from harness.fixtures import PROPERTIES
from harness.load import load
from tiers import ROOT, TIERS


def main(arguments: list[str]) -> int:
    """0 if all runs passed, else the exit code of the run that failed."""
    number, tests = int(arguments[0]), arguments[1:]
    first = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**31))
    environment = {PROPERTIES: "random"} | os.environ
    for tier in TIERS.values():
        if any(test.startswith(f"tests/{tier.name}/") for test in tests):
            environment |= tier.environment()
    with load(os.cpu_count() or 1):
        for seed in range(first, first + number):
            print(f"== run {seed - first + 1} of {number}, seed {seed}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", f"--randomly-seed={seed}", *tests]
            code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
            if code:
                again = f"N=1 SEED={seed} PROPERTIES={environment[PROPERTIES]}"
                print(f"RED: make test-repeat {again} TESTS='{' '.join(tests)}'")
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
