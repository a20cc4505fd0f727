"""From the command to the first committed batch of the smallest pipeline."""

from collections.abc import Iterator, Mapping
from typing import Final

import jobs
from jobs import RunFailed
from stats import orders


MAINSTEM: Final = "Mainstem"
SAME: Final = "plain PySpark, same properties"
BARE: Final = "plain PySpark, Spark's defaults"
VARIANTS: Final = (MAINSTEM, SAME, BARE)


def rounds(count: int, seed: int) -> Iterator[tuple[str, float]]:
    """(variant, seconds) for every run, after one of each that is not counted."""
    for variant in VARIANTS:
        _run(variant)
    for order in orders(VARIANTS, count, seed):
        for variant in order:
            yield variant, _run(variant)


def _run(variant: str) -> float:
    folder = jobs.fresh("startup")
    source = folder / "input"
    source.mkdir()
    (source / "line.txt").write_text("one line\n", encoding="utf-8")
    values = {"input": source, "lake": folder / "lake", "checkpoints": folder / "checkpoints"}
    first = folder / "checkpoints/copy/1/commits/0"
    took = jobs.measure(_command(variant, values), folder, first)
    if took.first is None:
        raise RunFailed(f"{variant}: no batch was committed in {first.parent}")
    return took.first


def _command(variant: str, values: Mapping[str, object]) -> list[str]:
    if variant == MAINSTEM:
        return jobs.mainstem("startup.yaml", values)
    return jobs.by_hand("plain_startup.py", values, "same" if variant == SAME else "bare")
