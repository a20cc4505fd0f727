"""What Spark's UI has of the executions of a session that tests share."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def since(spark: SparkSession) -> Callable[[], list[Any]]:
    """A function that returns the executions that began after this call: a session of a tier has hundreds of other tests."""
    known = {run.executionId() for run in _executions(spark)}
    return lambda: [run for run in _executions(spark) if run.executionId() not in known]


def _executions(spark: SparkSession) -> list[Any]:
    jvm: Any = spark._jvm
    store = spark._jsparkSession.sharedState().statusStore()
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(store.executionsList()))
