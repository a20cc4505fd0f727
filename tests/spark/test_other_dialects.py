"""docs/other-dialects.md: Spark refuses each text of another dialect over a stream, and runs what stands in its place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from documents.other_dialects import PAIRS, Pair, document
from harness import refusals
from harness.sampling import only, sampled
from pyspark.sql import SparkSession


HERE: Final = [pair for pair in PAIRS if pair.here]
IN_THE_GATE: Final = [
    next(pair for pair in HERE if word in pair.here) for word in ("session_window", "max_by")
]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders, payments and shops."""
    folder: Path = tmp_path_factory.mktemp("dialects")
    row = {"id": 1, "shop": "2026-01-01", "amount": 1, "items": ["x"]}
    refusals.put_three_days(folder, ("orders", "payments", "shops"), row, "at")
    return folder


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with refusals.silent(spark) as session:
        yield session


def is_refused(session: SparkSession, sql: str, mode: str, folder: Path) -> bool:
    """Whether Spark refuses a text: its parser, its analysis, or its checks of a stream."""
    plan = refusals.planned(session, document(sql, mode, str(folder)), mode)
    return bool(refusals.refusal(session, plan, mode))


@pytest.mark.parametrize("pair", sampled(PAIRS, every=9), ids=lambda pair: pair.there)
def test_spark_refuses_the_text_of_another_dialect_and_takes_the_one_in_its_place(
    session: SparkSession, folder: Path, pair: Pair
) -> None:
    assert is_refused(session, pair.there, pair.mode, folder)
    assert not pair.here or not is_refused(session, pair.here, pair.mode, folder)


@pytest.mark.parametrize("pair", only(HERE, IN_THE_GATE), ids=lambda pair: pair.here)
def test_the_text_in_its_place_writes_rows(
    session: SparkSession, folder: Path, tmp_path: Path, pair: Pair
) -> None:
    data = document(pair.here, pair.mode, str(folder))
    data["spec"]["checkpoints"]["location"] = str(tmp_path)
    data["spec"]["queries"][0]["trigger"] = {"availableNow": True}
    handle = refusals.run_to_the_end(session, data)
    assert sum(progress["sink"]["numOutputRows"] for progress in handle.recentProgress) > 0
