"""Java's classes by name: each is looked up once, and what is no class is looked up again."""

from collections.abc import Callable
from typing import Any

import pytest
from py4j import protocol
from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


LOOKUP = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_UNKNOWN_SUB_COMMAND_NAME
"""How py4j's commands that ask what a name means begin."""


@pytest.fixture
def looked_up(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The names that were looked up since the last call."""
    client: Any = spark._jvm._gateway_client
    sent, names = client.send_command, list[str]()

    def send(command: str, *arguments: Any, **options: Any) -> Any:
        if command.startswith(LOOKUP):
            names.append(command.split("\n")[2])
        return sent(command, *arguments, **options)

    def taken() -> list[str]:
        known = names.copy()
        names.clear()
        return known

    monkeypatch.setattr(client, "send_command", send)
    return taken


def test_a_class_is_looked_up_once(spark: SparkSession, looked_up: Callable[[], list[str]]) -> None:
    jvm: Any = spark._jvm
    assert jvm.java.util.concurrent.CountDownLatch(7).getCount() == 7
    assert "java.util.concurrent.CountDownLatch" in looked_up()
    assert jvm.java.util.concurrent.CountDownLatch(8).getCount() == 8
    assert jvm.java.util.concurrent.CountDownLatch is jvm.java.util.concurrent.CountDownLatch
    assert looked_up() == []


def test_a_name_without_a_class_is_looked_up_again(
    spark: SparkSession, looked_up: Callable[[], list[str]]
) -> None:
    """A jar that is added later may have the class."""
    jvm: Any = spark._jvm
    for _ in range(2):
        assert isinstance(jvm.later.Added, JavaPackage)
        assert looked_up() == ["later", "later.Added"]


def test_functions_of_columns_look_up_nothing_twice(
    spark: SparkSession, looked_up: Callable[[], list[str]]
) -> None:
    rows = spark.range(1)
    rows.select(F.concat(F.col("id"), F.lit("x")))
    looked_up()
    rows.select(F.concat(F.col("id"), F.lit("x")))
    assert looked_up() == []
