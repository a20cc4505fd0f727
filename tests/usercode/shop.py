"""Functions and views of a user's, as a document names them."""

from dataclasses import dataclass

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType


NOT_CALLABLE = 5


def parse(text: str | None) -> tuple[int, str] | None:
    """`12:apples` -> (12, "apples"); null of null."""
    if text is None:
        return None
    count, _, item = text.partition(":")
    return int(count), item


def doubled(values: pd.Series) -> pd.Series:
    """Twice each value."""
    return values * 2


def geometric(values: pd.Series) -> float:
    """The geometric mean."""
    return float(values.prod() ** (1 / len(values)))


def geometric_of(values: list[int]) -> float:
    """The same over a collected list."""
    product = 1
    for value in values:
        product *= value
    return float(product ** (1 / len(values)))


@F.udf(IntegerType())
def wrapped(value):  # type: ignore[no-untyped-def]
    """A UDF already."""
    return value


def without_hints(values):  # type: ignore[no-untyped-def]
    """No type hints, which a vectorized function needs."""
    return values


def priced(orders: DataFrame, prices: DataFrame, *, least: str = "0") -> DataFrame:
    """Orders with their price, from a least count on."""
    return orders.join(prices, "item", "left").where(F.col("count") >= int(least))


def pairs(left: DataFrame, right: DataFrame) -> DataFrame:
    """A relation with itself."""
    return left.unionByName(right)


def second(first: DataFrame, second: DataFrame) -> DataFrame:
    """Of the first nothing."""
    return second


def counted(orders: DataFrame) -> int:
    """No DataFrame."""
    return len(orders.columns)


def broken(orders: DataFrame) -> DataFrame:
    """Fails at once, two calls deep."""
    return _deeper(orders)


def misspelt(orders: DataFrame) -> DataFrame:
    """Spark refuses it."""
    return orders.select("itme")


def _deeper(orders: DataFrame) -> DataFrame:
    raise ValueError(f"no prices for {len(orders.columns)} columns, password=hunter2")


@dataclass
class Rate:
    """A class in a module, whose instances can be called."""

    times: int = 2

    def __call__(self, value: int | None) -> int | None:
        """So many times."""
        return None if value is None else value * self.times


thrice = Rate(3)
