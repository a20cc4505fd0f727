"""The cost of Mainstem compared with hand-written PySpark: CPU and time per record, start-up, `mainstem validate`.

Prints a table for each part, each with its target. A missed target does not fail the bench, because machines differ.
The bench fails if the two jobs differ: in Spark properties, or in the rows of the sinks.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

import jobs
import startup
import throughput
from jobs import RunFailed
from stats import Ratio, span


PARTS: Final = ("overhead", "startup", "validate")
RATIO: Final = 1.03
STARTUP_SECONDS: Final = 2.0
VALIDATE_SECONDS: Final = 0.5
VALIDATE_RUNS: Final = 10
_Series = dict[str, list[float]]
SAMPLE: Final = jobs.HERE.parent / "k8s/samples/flights-files.yaml"


def main() -> None:
    given = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    # As on a user's machine: a module is compiled once, not at every start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parts: dict[str, Callable[[], Any]] = {
        "overhead": lambda: overhead(given.pairs, given.records, given.seed),
        "startup": lambda: start_up(given.starts, given.seed),
        "validate": validate,
    }
    chosen = {part: run for part, run in parts.items() if given.only in (None, part)}
    jobs.run_parts(chosen, vars(given), "results.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9, help="rounds of three runs (default: 9)")
    parser.add_argument(
        "--records", type=int, default=2_000_000, help="records in the topic (default: 2,000,000)"
    )
    parser.add_argument("--starts", type=int, default=5, help="rounds of the start-up part (default: 5)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the random records and of the order of runs (default: 1)"
    )
    parser.add_argument("--only", choices=PARTS, help="the part to run (default: all)")
    return parser.parse_args()


def overhead(pairs: int, records: int, seed: int) -> Any:
    """Compare Mainstem with the hand-written job, and the hand-written job with itself."""
    if differences := throughput.differing_properties():
        raise RunFailed("the jobs differ in Spark properties:\n" + "\n".join(differences))
    batches = -(-records // throughput.batch_size())
    print(f"Overhead: {records:,} records, {batches} batches a query, {pairs} rounds")
    cpu: _Series = defaultdict(list)
    driver: _Series = defaultdict(list)
    wall: _Series = defaultdict(list)
    with throughput.opened(records, seed) as bench:
        for number, variant, took in throughput.rounds(bench, pairs, seed):
            cpu[variant].append(took.cpu / records * 1e6)
            driver[variant].append(took.driver / records * 1e6)
            wall[variant].append(took.wall)
            jobs.note(
                f"round {number + 1}: {variant}: {took.cpu:.1f} CPU-s ({took.driver:.1f} by the driver), {took.wall:.1f} s"
            )
    _print_overhead(cpu, driver, wall)
    return {"cpu_per_million": cpu, "driver_per_million": driver, "wall": wall}


def _print_overhead(cpu: _Series, driver: _Series, wall: _Series) -> None:
    print("\n| median (min-max) | CPU-s per million records | of these the Python driver | wall, s |")
    print("|---|---|---|---|")
    for variant in throughput.VARIANTS:
        print(f"| {variant} | {span(cpu[variant])} | {span(driver[variant])} | {span(wall[variant])} |")
    print(
        "\n| ratio of medians ± half the pairs' interquartile range (min-max) | CPU | wall |\n|---|---|---|"
    )
    for variant in (throughput.MAINSTEM, throughput.AGAIN):
        ratios = [Ratio.between(series[variant], series[throughput.PLAIN]) for series in (cpu, wall)]
        print(f"| {variant} / {throughput.PLAIN} | {_ratio(ratios[0])} | {_ratio(ratios[1])} |")
    ratio = Ratio.between(cpu[throughput.MAINSTEM], cpu[throughput.PLAIN]).of_medians
    again = Ratio.between(cpu[throughput.AGAIN], cpu[throughput.PLAIN])
    allowed = RATIO + again.spread
    jobs.verdict(
        "CPU ratio",
        f"{ratio:.3f}",
        f"at most {RATIO} + {again.spread:.3f} = {allowed:.3f}",
        met=ratio <= allowed,
    )


def _ratio(ratio: Ratio) -> str:
    return f"{ratio.of_medians:.3f} ± {ratio.spread:.3f} ({ratio.low:.3f}-{ratio.high:.3f})"


def start_up(count: int, seed: int) -> Any:
    """Seconds to the first committed batch."""
    print(f"Start-up: the command to the first committed batch, {count} rounds")
    seconds: _Series = defaultdict(list)
    for variant, took in startup.rounds(count, seed):
        seconds[variant].append(took)
        jobs.note(f"{variant}: {took:.2f} s")
    print("\n| median (min-max) | s |\n|---|---|")
    for variant in startup.VARIANTS:
        print(f"| {variant} | {span(seconds[variant])} |")
    added = _median(seconds, startup.MAINSTEM) - _median(seconds, startup.SAME)
    jobs.verdict(
        "Mainstem adds", f"{added:.2f} s", f"at most {STARTUP_SECONDS:g} s", met=added <= STARTUP_SECONDS
    )
    bare = _median(seconds, startup.MAINSTEM) - _median(seconds, startup.BARE)
    jobs.verdict(
        "... over Spark's defaults",
        f"{bare:.2f} s",
        f"at most {STARTUP_SECONDS:g} s",
        met=bare <= STARTUP_SECONDS,
    )
    return seconds


def _median(seconds: _Series, variant: str) -> float:
    return statistics.median(seconds[variant])


def validate() -> Any:
    """Seconds of `mainstem validate`."""
    print(f"Validate: {SAMPLE.name}, {VALIDATE_RUNS} runs")
    seconds = [_validated() for _ in range(VALIDATE_RUNS + 1)][1:]
    median = statistics.median(seconds)
    print(f"\n| median (min-max) | s |\n|---|---|\n| mainstem validate | {span(seconds)} |")
    jobs.verdict(
        "validate", f"{median:.2f} s", f"at most {VALIDATE_SECONDS} s", met=median <= VALIDATE_SECONDS
    )
    return seconds


def _validated() -> float:
    begun = time.perf_counter()
    command: Sequence[str] = (sys.executable, "-m", "mainstem", "validate", str(SAMPLE))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if done.returncode:
        raise RunFailed(f"exit code {done.returncode}: {done.stderr}")
    return took


if __name__ == "__main__":
    try:
        main()
    except RunFailed as failure:
        sys.exit(f"error: {failure}")
