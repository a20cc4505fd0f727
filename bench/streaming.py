"""Mainstem as a streaming system: throughput, latency, the cost of a batch, fairness, beside plain Spark.

Prints a table for each part, each with its target. A missed target does not fail the bench, because machines differ.
The bench fails if a job loses rows, or writes rows that it should not.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import jobs
import latency
import local_checkpoints
import pools
import small_batches
import sparse
import ysb
from jobs import RunFailed


def main() -> None:
    given = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parts: dict[str, Callable[[], Any]] = {
        "a": lambda: ysb.run(given.records, given.rounds, given.seed),
        "b": lambda: latency.run(given.seconds, given.short, given.rate),
        "c": lambda: small_batches.run(given.batches, given.pairs, given.seed),
        "d": lambda: pools.run(given.light),
        "e": lambda: sparse.run(given.sparse, given.pairs),
        "f": lambda: local_checkpoints.run(given.local, given.pairs, given.seed),
    }
    chosen = {part: run for part, run in parts.items() if part in given.only}
    jobs.run_parts(chosen, vars(given), "streaming.json")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="abcdef", metavar="PARTS", help="the parts to run (default: all)")
    parser.add_argument(
        "--records", type=int, default=3_000_000, help="a: events in the topic (default: 3,000,000)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="a: rounds of three runs (default: 5)")
    parser.add_argument(
        "--seconds", type=float, default=245.0, help="b: seconds of each run in real time (default: 245)"
    )
    parser.add_argument(
        "--short", type=float, default=60.0, help="b: seconds of each other run (default: 60)"
    )
    parser.add_argument("--rate", type=int, default=1_000, help="b: records a second (default: 1,000)")
    parser.add_argument("--batches", type=int, default=80, help="c: batches in a run (default: 80)")
    parser.add_argument("--pairs", type=int, default=2, help="c, e, f: rounds of each run (default: 2)")
    parser.add_argument("--light", type=int, default=30, help="d: batches of the light query (default: 30)")
    parser.add_argument("--sparse", type=int, default=30, help="e: batches in a run (default: 30)")
    parser.add_argument("--local", type=int, default=100, help="f: batches in a run (default: 100)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the random records and of the order of runs (default: 1)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except RunFailed as failure:
        sys.exit(f"error: {failure}")
