"""Medians, ratios of medians and their spread; pure."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Self


@dataclass(frozen=True)
class Ratio:
    """How one variant compares with another that ran beside it, pair by pair.

    Attributes:
        of_medians: the ratio of the two medians.
        low: the smallest ratio of a pair.
        high: the largest ratio of a pair.
        spread: half the distance between the quartiles of the pairs' ratios: half of the pairs lie within a band
            of +- this width.
    """

    of_medians: float
    low: float
    high: float
    spread: float

    @classmethod
    def between(cls, over: Sequence[float], under: Sequence[float]) -> Self:
        """Compare two series, of which the n-th elements belong to one pair.

        >>> Ratio.between([3.0, 4.0, 5.0], [2.0, 4.0, 4.0])
        Ratio(of_medians=1.0, low=1.0, high=1.5, spread=0.125)
        """
        pairs = [a / b for a, b in zip(over, under, strict=True)]
        first, third = quartiles(pairs)
        medians = statistics.median(over) / statistics.median(under)
        return cls(medians, min(pairs), max(pairs), (third - first) / 2)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile.

    >>> quartiles([1.0, 2.0, 3.0])
    (1.5, 2.5)
    """
    if len(values) == 1:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent do not exceed, itself one of the values.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50)
    3.0
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def orders(variants: Sequence[str], rounds: int, seed: int) -> list[tuple[str, ...]]:
    """The order of the variants in each round: every permutation once, shuffled, before any comes again.

    So each variant has each place about as often, and a drift of the machine hits all alike.

    >>> len(set(orders("ab", 2, seed=7)))
    2
    """
    result: list[tuple[str, ...]] = []
    shuffler = random.Random(seed)
    while len(result) < rounds:
        block = list(permutations(variants))
        shuffler.shuffle(block)
        result += block
    return result[:rounds]


def span(values: Sequence[float], digits: int = 2) -> str:
    """The median with the extremes.

    >>> span([1.0, 3.0, 2.0])
    '2.00 (1.00-3.00)'
    """
    low, high = min(values), max(values)
    return f"{statistics.median(values):.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
