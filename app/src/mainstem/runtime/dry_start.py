"""A dry start: checks everything that a start of a document checks, and starts nothing. The pipeline may run meanwhile."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.queries import Query
from mainstem.language.requirements import running as required
from mainstem.runtime.checkpoint.ownership import Ownership
from mainstem.runtime.clock import Clock
from mainstem.runtime.local_sessions import Opener
from mainstem.runtime.preflight import checks, readiness
from mainstem.runtime.preflight.inputs import Absent, Inputs
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.changed_documents import admit
from mainstem.runtime.query.refusals import not_ready
from mainstem.runtime.query.starting import Starter
from mainstem.runtime.query.supervised_query import SupervisedQuery, supervised_queries
from mainstem.runtime.supervision import listeners
from mainstem.runtime.supervision.waiting_queries import WaitingQueries


def run(
    document: Document,
    opened: Opener,
    driver: DriverIdentity,
    clock: Clock,
    running: Graph | None = None,
) -> dict[str, Absent | None]:
    """Check a document against Spark, the stores, the servers and the checkpoints.

    The folder `checkpoints.location` is made, and a probe in it comes and goes. Nothing else is written: no topic, no table, no
    checkpoint and no owner record. The user's code runs as far as building the queries needs it.

    Args:
        document: the document.
        opened: opens its session.
        driver: who would own the checkpoints.
        clock: the time of the run.
        running: the document that runs now. A query of it must not wait for an input for which it does not wait now.

    Returns:
        query that is not suspended -> the input for which it would wait; None if it would start at once.

    Raises:
        SpecInvalid: Spark refuses a part of the document; with all problems.
        NotReady: a query would not start; with all causes. It is transient if a later attempt may succeed.
    """
    if unready := readiness.before_session(document.graph):
        raise not_ready(unready)
    silent = checks.check_servers(document.graph)
    with opened(document, document.graph) as spark:
        try:
            return _checked(spark, document, driver, clock, silent, running)
        except SpecInvalid as refused:
            raise document.located(refused) from refused.__cause__


def _checked(
    spark: SparkSession,
    document: Document,
    driver: DriverIdentity,
    clock: Clock,
    silent: Collection[str],
    running: Graph | None,
) -> dict[str, Absent | None]:
    listeners.look(document.graph.spec.listeners)
    ready, unready = admit(spark, document)
    graph = ready.graph
    checks.check_checkpoint_store(spark, graph)
    unready |= readiness.in_session(spark, graph, driver.pipeline, clock, silent, only_look=True)
    analysis = Analysis(graph, document.problem)
    queries = supervised_queries(spark, graph, clock)
    for each in queries:
        if error := unready.get(each.query.name):
            analysis.refusals.add(each, error)
    inputs = Inputs(spark, graph, readiness.topics_to_make(graph))
    WaitingQueries(spark, graph, clock, inputs).begin(analysis.refusals.others(queries), analysis.refusals)
    if running is not None:
        _refuse_waiting(spark, running, analysis, queries)
    _build(_starter(document, graph, driver, clock), analysis, queries)
    analysis.refusals.check(analysis.problems, some=False, strict=True)
    return {each.query.name: each.absent for each in queries if not each.query.suspend}


def _starter(document: Document, graph: Graph, driver: DriverIdentity, clock: Clock) -> Starter:
    ownership = Ownership(driver, clock, take_over=graph.spec.checkpoints.take_over)
    return Starter(graph, ownership, clock, locate=document.problem)


def _refuse_waiting(
    spark: SparkSession, running: Graph, analysis: Analysis, queries: Sequence[SupervisedQuery]
) -> None:
    """Refuse each query that would wait, and does not wait now. Every start waits for the writers of the document. While a server
    does not answer, nobody knows.
    """
    runs, inputs = {query.name: query for query in required(running)}, Inputs(spark, running)
    for each in queries:
        absent, now = each.absent, runs.get(each.query.name)
        if absent is None or now is None or absent.reason == reasons.WRITER_NOT_ENDED:
            continue
        if absent.outage or not _waits(inputs, now):
            analysis.refusals.add(each, NotReady(absent.message, reason=absent.reason, transient=True))


def _waits(inputs: Inputs, query: Query) -> bool:
    """Whether an input of a query is known to be missing. The session may lack what reaches another document's inputs."""
    try:
        return inputs.absent(query, {}) is not None
    except NotReady:
        return False


def _build(starter: Starter, analysis: Analysis, queries: Sequence[SupervisedQuery]) -> None:
    """Build the queries that do not wait, and look at their checkpoints and folders."""
    present = [each for each in analysis.refusals.others(queries) if each.absent is None]
    for supervised, built in analysis.queries(starter, present):
        with analysis.guarded(supervised):
            starter.first(supervised.query, partial(starter.look, supervised, built))
    for supervised in present[:1]:
        analysis.others(supervised.session)


def lines(queries: Mapping[str, Absent | None]) -> list[str]:
    """What is shown of a document that would start: a line for each query."""
    return [
        f"query {name}: " + ("ready" if absent is None else f"waits: {absent.message} [{absent.reason}]")
        for name, absent in queries.items()
    ]
