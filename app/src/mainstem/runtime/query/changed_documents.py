"""Decides before a query starts whether it may continue from its checkpoint: compares the document with the one under which
the checkpoint was last written.
"""

from collections.abc import Collection
from functools import partial

from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.changes import QueryVerdict, Verdict, compare
from mainstem.changes.consequences import WAYS_OUT, message, path_in
from mainstem.changes.record import part_of, placed
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.language.model.queries import Query
from mainstem.language.requirements import running
from mainstem.runtime.checkpoint import document_records
from mainstem.runtime.preflight.inputs import ask
from mainstem.runtime.preflight.readiness import suspend_unready


def admit(session: SparkSession, document: Document) -> tuple[Document, dict[str, NotReady]]:
    """Compare the document with the record beside the checkpoint of each query that is not suspended.

    Returns:
        the document with the generations of the checkpoints that the queries use, and with refused queries suspended; and
        query -> why it must not start.
    """
    refused: dict[str, NotReady] = {}
    generations: dict[str, int] = {}
    for query in running(document.graph):
        folder = _folder(document.graph, query)
        try:
            chosen = ask("the checkpoint", folder, partial(_generation, session, document, query, folder))
        except NotReady as error:
            refused[query.name] = error
        else:
            generations |= {query.name: chosen} if chosen != query.checkpoint.generation else {}
    if generations:
        document = document.with_generations(generations)
    return suspend_unready(document, refused), refused


def chosen_at_start(session: SparkSession, graph: Graph, names: Collection[str]) -> list[str]:
    """Why only a new driver can start these queries: it chooses the generations of `checkpoint.onChange: newGeneration`."""
    return [
        f"the checkpoint that the query {query.name} chooses by checkpoint.onChange"
        for query in running(graph)
        if query.name in names
        and query.checkpoint.on_change == "newGeneration"
        and ask("the checkpoint", _folder(graph, query), partial(_generations, session, graph, query))
    ]


def refuse_misread(
    session: SparkSession,
    verdict: Verdict,
    wanted: Graph,
    names: Collection[str],
    failed: Collection[str] = (),
) -> dict[str, NotReady]:
    """Refuse a document with which a query of a running driver would misread its checkpoint.

    A query that has failed permanently never refuses the document: only its own start is refused.

    Args:
        session: any session.
        verdict: the comparison of the running document with the other one.
        wanted: the other document.
        names: the queries that begin on a checkpoint on which the running document has not run them.
        failed: the queries that have failed permanently.

    Returns:
        failed query -> why it must not start.

    Raises:
        NotReady: `CheckpointIncompatible`, or the store does not answer.
    """
    starting = {query.name: query for query in running(wanted) if query.checkpoint.on_change != "keep"}
    # Perhaps the running document has not written the checkpoints of these queries: their records have the one that did.
    recorded = {name: query for name, query in starting.items() if name in names or name in failed}
    compared = starting.keys() - recorded.keys()
    refused = [each for each in verdict.refused if each.query in compared]
    alone = {}
    for name, query in recorded.items():
        checkpoint = f"{_folder(wanted, query)}/{query.checkpoint.generation}"
        refusal = ask("the checkpoint", checkpoint, partial(_refusal, session, wanted, query, checkpoint))
        if refusal is not None and name in failed:
            alone[name] = _incompatible(refusal)
        elif refusal is not None:
            refused.append(refusal)
    if refused:
        raise _incompatible(*refused)
    return alone


def _incompatible(*refused: QueryVerdict) -> NotReady:
    problem = "; ".join(message(each.query, each.refusals) for each in refused)
    return NotReady(problem, reason=reasons.CHECKPOINT_INCOMPATIBLE, remedy=WAYS_OUT)


def _folder(graph: Graph, query: Query) -> str:
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{query.checkpoint_id}"


def _generations(session: SparkSession, graph: Graph, query: Query) -> list[int]:
    return document_records.generations(session, _folder(graph, query))


def _generation(session: SparkSession, document: Document, query: Query, folder: str) -> int:
    """The generation with which the query starts.

    Raises:
        NotReady: `CheckpointIncompatible`.
    """
    generation, choice = query.checkpoint.generation, query.checkpoint.on_change
    if choice == "newGeneration":
        generation = max([generation, *document_records.generations(session, folder)])
    checkpoint = f"{folder}/{generation}"
    refusal = _refusal(session, document.graph, query, checkpoint)
    if refusal is None:
        return generation
    problem = f"{message(query.name, refusal.refusals, partial(_place, document))} (checkpoint {checkpoint})"
    if choice == "refuse":
        raise NotReady(problem, reason=reasons.CHECKPOINT_INCOMPATIBLE, remedy=WAYS_OUT)
    log = logs.get("mainstem").bind(query=query.name, because=problem)
    if choice == "keep":
        log.warning("the query starts on a checkpoint that does not fit, because checkpoint.onChange is keep")
        return generation
    log.warning("the query starts with the next generation of its checkpoint", generation=generation + 1)
    return generation + 1


def _refusal(session: SparkSession, graph: Graph, query: Query, checkpoint: str) -> QueryVerdict | None:
    """The verdict about the query if it must not continue from the checkpoint."""
    record = document_records.read(session, checkpoint)
    if record is None:
        return None
    wanted = part_of(graph, query.name)
    refused = compare(placed(record.document, wanted), wanted).refused
    return next((verdict for verdict in refused if verdict.query == query.name), None)


def _place(document: Document, field: str) -> str:
    """The field with the line of the document's file."""
    problem = document.problem(path_in(document.graph, field), "", reasons.CHECKPOINT_INCOMPATIBLE)
    return f"{field} ({document.file}:{problem.line})"
