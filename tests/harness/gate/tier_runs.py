"""Runs tiers one after the other, and repeats alone what failed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.gate.outcomes import Outcome, read
from harness.gate.preparation import Preparation


UNSTABLE_ALLOWED = 3
"""So many tests of a run may fail once and pass alone; with one more, something is wrong with the run itself."""


@dataclass(frozen=True)
class Tier:
    """A group of tests with the same needs.

    Attributes:
        name: its folder below the folder of tests; those of several tiers that share processes, joined by `+`.
        targets: of make, which build what the tests need.
        workers: processes that run its tests side by side; 0 runs them in one.
        environment: makes what its tests have beside the environment.
    """

    name: str
    targets: tuple[str, ...] = ()
    workers: int = 0
    environment: Callable[[], dict[str, str]] = dict


@dataclass
class TierRun:
    """What became of a tier.

    Attributes:
        waiting: seconds until its targets of make were built.
        testing: seconds of its environment and its tests, with the repeated ones.
        outcomes: of its tests, as they ended first.
        unstable: those that failed, and passed alone.
        failures: those that failed twice, or were not repeated.
        broken: why the tier did not run to its end.
    """

    tier: str
    waiting: float = 0.0
    testing: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list)
    unstable: list[Outcome] = field(default_factory=list)
    failures: list[Outcome] = field(default_factory=list)
    broken: str | None = None

    @property
    def passed(self) -> bool:
        return not self.failures and self.broken is None


@dataclass
class Gate:
    """Runs tiers of the tests of a checkout.

    Attributes:
        root: of the checkout, whose folder `tests` has a folder for each tier.
        options: of pytest, for each tier.
        seed: of the order and of random numbers, for all tiers and for what is repeated.
        keep_going: runs the tiers behind one that failed, too.
    """

    root: Path
    options: Sequence[str]
    seed: int
    keep_going: bool = False
    runs: list[TierRun] = field(default_factory=list)

    def run(self, tiers: Sequence[Tier]) -> bool:
        """Whether all tests passed, at once or alone. Stops behind a tier that failed, unless `keep_going`.

        What tiers need is built from the beginning, beside the tiers that need nothing.
        """
        targets = dict.fromkeys(target for tier in tiers for target in tier.targets)
        preparation = Preparation(self.root, tuple(targets), self._file("preparation.log"))
        preparation.start()
        try:
            for tier in tiers:
                print(f"== {tier.name}", flush=True)
                run = TierRun(tier.name)
                self.runs.append(run)
                self._run(tier, run, preparation)
                if not run.passed and not self.keep_going:
                    break
        finally:
            preparation.stop()
        return all(run.passed for run in self.runs)

    def _run(self, tier: Tier, run: TierRun, preparation: Preparation) -> None:
        start = time.monotonic()
        run.broken = preparation.error(tier.targets)
        run.waiting = time.monotonic() - start
        if run.broken is None:
            self._test(tier, run)

    def _test(self, tier: Tier, run: TierRun) -> None:
        start = time.monotonic()
        environment = os.environ | tier.environment()
        spread = ["-n", str(tier.workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        code, run.outcomes = self._pytest(
            [*(spread if tier.workers else []), *(f"tests/{folder}" for folder in tier.name.split("+"))],
            tier.name,
            environment,
        )
        failed = [outcome for outcome in run.outcomes if outcome.error]
        if code not in (0, 1) or (code == 1 and not failed):
            run.broken = f"pytest ended with exit code {code} before all tests ran"
            run.failures = failed
        elif self._repeatable(failed):
            self._repeat(failed, run, environment)
        else:
            run.failures = failed
        run.testing = time.monotonic() - start

    def _repeatable(self, failed: Sequence[Outcome]) -> bool:
        """Few enough to be chance, with those of the tiers before."""
        before = sum(len(run.unstable) for run in self.runs)
        targets = {outcome.repeat for outcome in failed}
        return "" not in targets and before + len(targets) <= UNSTABLE_ALLOWED

    def _repeat(self, failed: Sequence[Outcome], run: TierRun, environment: Mapping[str, str]) -> None:
        """Run each failed test alone, in a process of its own: nothing runs beside it."""
        first = {outcome.repeat: outcome for outcome in reversed(failed)}
        for target, outcome in first.items():
            print(f"== {outcome.test} failed; repeated alone", flush=True)
            code, _ = self._pytest([target], f"{run.tier}-repeated", environment)
            (run.failures if code else run.unstable).append(outcome)

    def _pytest(
        self, arguments: Sequence[str], name: str, environment: Mapping[str, str]
    ) -> tuple[int, list[Outcome]]:
        log = self._file(f"{name}.jsonl")
        log.unlink(missing_ok=True)
        seed = f"--randomly-seed={self.seed}"
        command = [sys.executable, "-m", "pytest", *self.options, seed, f"--report-log={log}", *arguments]
        code = subprocess.run(command, cwd=self.root, env=environment, check=False).returncode
        return code, read(log, self.root)

    def _file(self, name: str) -> Path:
        folder = self.root / "build" / "tiers"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name
