"""Builds the queries of a document without starting them, and returns Spark's plans."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from mainstem.checkpoints.owner import DriverIdentity
from mainstem.dataframes import query as build
from mainstem.dataframes.options import connector
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.queries import Query
from mainstem.runtime.checkpoint.ownership import Ownership
from mainstem.runtime.clock import Clock
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.starting import Starter
from mainstem.runtime.spark import session
from mainstem.runtime.spark.environment import this_machine


def plans(document: Document, names: Sequence[str]) -> dict[str, str]:
    """Query -> its plans as Spark explains them: parsed, analysed, optimised, physical.

    Raises:
        NotReady: Spark does not start, or a source of a query cannot be opened.
        SpecInvalid: Spark rejects queries or views; the error has all problems of the document.
    """
    graph = document.graph
    analysis = Analysis(graph, document.problem)
    clock = Clock()
    first = Starter(graph, Ownership(DriverIdentity(document.pipeline.name), clock), clock).first
    plans_by_query: dict[str, str] = {}
    environment = this_machine(cores=1, heap="1g", code=document.folder)
    # Standard output is reserved for the explanation, which may be JSON.
    aside = partial(print, file=sys.stderr)
    with session.open_session(graph, environment, output=aside, verbose=False) as spark:
        for query in graph.spec.queries:
            if query.name not in names:
                continue
            try:
                frame = first(query, partial(_checked, spark.newSession(), graph, query, analysis))
                plans_by_query[query.name] = explained(frame)
            except SpecInvalid as refused:
                analysis.noted(refused)
        analysis.others(spark)
    if analysis.problems:
        raise SpecInvalid(analysis.problems, document.file)
    return plans_by_query


def plan(spark: SparkSession, graph: Graph, query: Query) -> str:
    """Spark's plans of one query, built in a new session."""
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(query.state.partitions))
    connector.catalogs(own, graph)
    return explained(Builder(own, graph).relation(query.from_))


def explained(relation: DataFrame) -> str:
    """Spark's plans of a relation, as text."""
    # Spark explains a stream only from a resolved plan, and the plan of a SQL text is not resolved.
    frame: Any = relation.select("*")
    utils: Any = relation.sparkSession._jvm.org.apache.spark.sql.api.python.PythonSQLUtils  # noqa: SLF001
    return str(utils.explainString(frame._jdf.queryExecution(), "extended"))  # noqa: SLF001


def _checked(session: SparkSession, graph: Graph, query: Query, analysis: Analysis) -> DataFrame:
    frame = build.relation(session, graph, query, analysis.part)
    build.check_stream(frame, query)
    return frame
