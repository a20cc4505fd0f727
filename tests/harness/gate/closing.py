"""The text at the end of a run: the minutes of each tier, the slowest tests, and what failed with the command to repeat it."""

from collections.abc import Iterator, Sequence

from harness.gate.outcomes import Outcome
from harness.gate.tier_runs import TierRun


SLOWEST = 10
LINES = 40
"""A red run explains itself within so many lines."""
_SHOWN = 5
_LINES_OF_ERROR = 3
_LINES_OF_LOG = 8
_WIDTH = 160


def table(runs: Sequence[TierRun]) -> str:
    """Tests and minutes of each tier, and whether it passed; `waited` is the time until its servers and images were built."""
    total = TierRun(
        "all",
        sum(run.waiting for run in runs),
        sum(run.testing for run in runs),
        [outcome for run in runs for outcome in run.outcomes],
    )
    rows = [f"{_numbers(run)}  {_result(run)}" for run in runs]
    head = f"{'tier':24}{'tests':>7}{'waited':>8}{'minutes':>9}  result"
    return "\n".join([head, *rows, _numbers(total)])


def slowest(runs: Sequence[TierRun]) -> str:
    """The slowest tests of all tiers, with their seconds."""
    every = sorted((each for run in runs for each in run.outcomes), key=lambda each: -each.seconds)
    return "\n".join(f"{each.seconds:7.1f} s  {each.test}" for each in every[:SLOWEST])


def unstable(runs: Sequence[TierRun]) -> str:
    """The tests that failed once and passed alone, each with its first error; empty if there are none."""
    return "\n".join(_failed(each) for run in runs for each in run.unstable)


def red(runs: Sequence[TierRun], seed: int, properties: str) -> str:
    """What failed, with the assertion of each test and the command to repeat it, in at most `LINES` lines.

    :param properties: whether properties had the `same` examples as in each run of the gate, or `random` ones.
    """
    lines = [f"RED, seed {seed}"]
    for run in runs:
        if run.broken is not None:
            lines += [f"{run.tier}: {line}" for line in run.broken.splitlines()[-_LINES_OF_LOG:]]
    failures = [each for run in runs for each in run.failures]
    for outcome in failures[:_SHOWN]:
        lines += _failed(outcome).splitlines()
        lines.append(
            f"    make test-repeat N=1 SEED={seed} PROPERTIES={properties} TESTS='{outcome.repeat or outcome.test}'"
        )
    if failures[_SHOWN:]:
        lines.append(f"and {len(failures) - _SHOWN} more; all are in build/tiers")
    return "\n".join(lines[:LINES])


def _numbers(run: TierRun) -> str:
    return f"{run.tier:24}{len(run.outcomes):7}{run.waiting / 60:8.1f}{run.testing / 60:9.1f}"


def _result(run: TierRun) -> str:
    words = list(_words(run))
    return ", ".join(words) if words else "passed"


def _words(run: TierRun) -> Iterator[str]:
    if run.broken is not None:
        yield "BROKEN"
    if run.failures:
        yield f"FAILED ({len(run.failures)})"
    if run.unstable:
        yield f"unstable ({len(run.unstable)})"


def _failed(outcome: Outcome) -> str:
    error = [line[:_WIDTH] for line in (outcome.error or "").splitlines() if line.strip()]
    return "\n".join([outcome.test, *(f"    {line}" for line in error[:_LINES_OF_ERROR])])
