"""Compares two documents, query by query; pure."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from mainstem.changes.checkpoint import CheckpointFacts, checkpoint_changes
from mainstem.changes.deployment import driver_changes
from mainstem.changes.fields import field_changes
from mainstem.changes.normal_form import normal_form, view_text
from mainstem.changes.query_rules import afresh, setting_changes, sink_changes, written_columns
from mainstem.changes.relations import NormalForm, StepKind
from mainstem.changes.sides import Side
from mainstem.changes.source_rules import source_changes
from mainstem.changes.state_rules import state_changes
from mainstem.changes.verdict import NEW_GENERATION, REFUSED, Change, Effect, Verdict, verdict_of
from mainstem.changes.watermark_rules import watermark_changes
from mainstem.language.analysis.folders import normal
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.source_columns import column_types
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.queries import Query


_NO_FACTS: Final[Mapping[str, CheckpointFacts]] = {}
_LIVE: Final = ("schedule", "rollback", "trial")
"""Fields of `spec` that the operator applies without a new driver."""
_EMPTY: Final = "the checkpoint is empty, unless `mainstem checkpoint` has made it from another one"
_Places = tuple[Mapping[str, str], Mapping[str, str]]
"""Query -> the folder of its checkpoint, in the old document and in the new one."""
_TUNING: Final = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.execution.arrow.",
    "spark.sql.files.",
    "spark.sql.streaming.",
    "spark.sql.ui.",
)
"""Properties of Spark's SQL that change no result."""


def compare(
    running: StreamingPipeline | Graph | None,
    wanted: StreamingPipeline | Graph,
    checkpoints: Mapping[str, CheckpointFacts] = _NO_FACTS,
    working: str = "",
) -> Verdict:
    """What the change from one document to another does to each query and to the driver.

    Code, such as Python functions and images, cannot be compared: only a reference to other code is a change.

    Args:
        running: the document that wrote the checkpoints, with its parameters filled in; None if it is not known.
        wanted: the new document, with its parameters filled in.
        checkpoints: query of the new document -> the facts about its checkpoint, for those that are known.
        working: the folder in which relative paths begin, for both documents; empty if it is not known.
    """
    new = _graph(wanted)
    if running is None:
        verdicts = [verdict_of(q.name, _facts(new, q, checkpoints)) for q in new.spec.queries]
        return Verdict(tuple(verdicts))
    old = _graph(running)
    places = _places(old, working), _places(new, working)
    pairs = _pairs(old, new, places)
    kept = {query.name for query in pairs.values()}
    removed = [query for query in old.spec.queries if query.name not in kept]
    place = partial(_folder, working=working)
    folders = {place(sink.files.path) for query in old.spec.queries for sink in query.to if sink.files}
    verdicts = []
    renamed = _renamed(old, new)
    for query in new.spec.queries:
        was = pairs.get(query.name)
        changes = list(_query_changes(old, new, was, query, checkpoints, places))
        if not any(change.effect is Effect.EMPTY for change in changes):
            changes += [*_facts(new, query, checkpoints), *renamed]
        # A query under another name that reads the same is the same to its sinks.
        before = [was] if was else [each for each in removed if _read_alike(old, each, new, query)]
        earlier = [sink for each in before for sink in each.to]
        verdicts.append(verdict_of(query.name, changes, afresh(new, query, earlier, place, folders)))
    for query in removed:
        text = "the query is removed: it stops at a batch's end, and its checkpoint stays"
        verdicts.append(verdict_of(query.name, [Change(_path(query), text, Effect.REMOVED)]))
    return Verdict(tuple(verdicts), driver_changes(old.spec, new.spec))


def _graph(document: StreamingPipeline | Graph) -> Graph:
    return Graph(document) if isinstance(document, StreamingPipeline) else document


def _path(query: Query) -> str:
    return f"spec.queries[{query.name}]"


def _places(graph: Graph, working: str) -> dict[str, str]:
    """Query -> the folder of its checkpoint."""
    location = _folder(graph.spec.checkpoints.location, working)
    return {query.name: f"{location}/{query.checkpoint_path}" for query in graph.spec.queries}


def _renamed(old: Graph, new: Graph) -> list[Change]:
    """The change of the pipeline's name, to which the checkpoints belong."""
    was, now = old.pipeline.name, new.pipeline.name
    if was == now:
        return []
    if new.spec.checkpoints.take_over:
        text = f"the pipeline takes the checkpoint of {was} over"
        return [Change("spec.checkpoints.takeOver", text, Effect.CONTINUES)]
    text = f"the checkpoint belongs to the pipeline {was}, and the document is {now}"
    remedy = "keep the name, or stop the old pipeline and set checkpoints.takeOver to its owner"
    return [Change("metadata.name", text, Effect.INCOMPATIBLE, remedy)]


def _folder(path: str, working: str) -> str:
    """One spelling for a folder, whether its path is relative or not."""
    spelled = normal(path)
    return normal(f"{working}/{spelled}") if working and not spelled.startswith(("/", "s3a://")) else spelled


def _read_alike(old: Graph, was: Query, new: Graph, now: Query) -> bool:
    """Whether two queries read a source in common."""
    names = [
        {source.name for source in graph.sources_of(query.from_) if source.static is None}
        for graph, query in ((old, was), (new, now))
    ]
    return not names[0].isdisjoint(names[1])


def _pairs(old: Graph, new: Graph, places: _Places) -> dict[str, Query]:
    """Query of the new document -> the query of the old one that has its checkpoint, or else its name."""
    by_checkpoint = {places[0][query.name]: query for query in old.spec.queries}
    pairs = {
        query.name: by_checkpoint[path]
        for query in new.spec.queries
        if (path := places[1][query.name]) in by_checkpoint
    }
    taken = {query.name for query in pairs.values()}
    by_name = {query.name: query for query in old.spec.queries if query.name not in taken}
    named = {query.name: by_name[query.name] for query in new.spec.queries if query.name in by_name}
    return named | pairs


def _facts(graph: Graph, query: Query, checkpoints: Mapping[str, CheckpointFacts]) -> list[Change]:
    if query.name not in checkpoints:
        return []
    return list(checkpoint_changes(checkpoints[query.name], query, normal_form(graph, query.from_)))


def _query_changes(
    old: Graph,
    new: Graph,
    was: Query | None,
    now: Query,
    checkpoints: Mapping[str, CheckpointFacts],
    places: _Places,
) -> Iterator[Change]:
    if was is None:
        yield Change(_path(now), "the query is new: it starts with an empty checkpoint", Effect.EMPTY)
        return
    forms = normal_form(old, was.from_), normal_form(new, now.from_)
    if places[0][was.name] != places[1][now.name]:
        yield _other_checkpoint(was, now, (places[0][was.name], places[1][now.name]))
        yield from sink_changes(was, now, (forms[0].rows, forms[1].rows), begins=True)
        return
    stateful = any(form.steps for form in forms)
    facts = checkpoints.get(now.name)
    yield from setting_changes(
        was, now, stateful=stateful, fixed=facts is not None and facts.partitions is not None
    )
    yield from source_changes(old, new, was, now, stateful=_keyed(forms))
    yield from sink_changes(was, now, (forms[0].rows, forms[1].rows))
    sides = [
        Side(form, _types(graph), written_columns(query))
        for form, graph, query in zip(forms, (old, new), (was, now), strict=True)
    ]
    computed = [*state_changes(*sides), *watermark_changes(*forms)]
    if facts is not None and facts.operators == ():
        computed = [_without_state(change) for change in computed]
    yield from computed
    if not any(change.effect in REFUSED for change in computed):
        yield from _sql_changes(old, new, (was, now), sides, stateful=stateful)
    yield from _shared_changes(old, new, stateful=stateful)


def _other_checkpoint(was: Query, now: Query, places: tuple[str, str]) -> Change:
    before, after = was.checkpoint, now.checkpoint
    same_id = places[0].rpartition("/")[0] == places[1].rpartition("/")[0]
    if same_id and after.generation < before.generation:
        text = f"checkpoint.generation was {before.generation}, and is {after.generation}: the query continues an older checkpoint"
        remedy = "raise checkpoint.generation instead"
        return Change(f"{_path(now)}.checkpoint.generation", text, Effect.MISREADS, remedy)
    if same_id:
        text = f"checkpoint.generation was {before.generation}, and is {after.generation}: {_EMPTY}"
        return Change(f"{_path(now)}.checkpoint.generation", text, Effect.EMPTY)
    path = "spec.checkpoints.location"
    if was.checkpoint_path != now.checkpoint_path:
        path = f"{_path(now)}.checkpoint"
    text = f"the checkpoint was {places[0]}, and is {places[1]}: {_EMPTY}"
    return Change(
        path,
        text,
        Effect.EMPTY,
        "set checkpoint.id to the old name to continue" if was.name != now.name else "",
    )


def _without_state(change: Change) -> Change:
    """The change for a checkpoint that certainly has no state: nothing can be misread."""
    if change.effect is not Effect.MISREADS:
        return change
    return Change(change.path, f"{change.text}; the checkpoint has no state", Effect.CONTINUES)


def _keyed(forms: tuple[NormalForm, NormalForm]) -> bool:
    """Whether state depends on values of columns: every step but a LIMIT."""
    return any(step.kind is not StepKind.LIMIT for form in forms for step in form.steps)


def _types(graph: Graph) -> dict[tuple[str, str], str]:
    return {
        (name, column): kind
        for name, source in graph.sources.items()
        for column, kind in column_types(source).items()
    }


def _sql_changes(
    old: Graph, new: Graph, queries: tuple[Query, Query], sides: list[Side], *, stateful: bool
) -> Iterator[Change]:
    """What the query computes, apart from the meaning of its state."""
    before, after = (side.identity() for side in sides)
    views = [name for name in new.closure(queries[1].from_) if name in new.views]
    changed = [
        name for name in views if name not in old.views or view_text(old, name) != view_text(new, name)
    ]
    calls = _words(old, queries[0]) != _words(new, queries[1])
    if before == after and not calls:
        return
    path = f"spec.views[{changed[0]}]" if changed else f"{_path(queries[1])}.from"
    if changed and new.views[changed[0]].sql:
        path = f"{path}.sql"
    kept = "in the sinks and in the state" if stateful else "in the sinks"
    text = f"the new SQL holds for later rows; earlier rows {kept} stay as they are"
    yield Change(path, text, Effect.CONTINUES)


def _words(graph: Graph, query: Query) -> int:
    """The number of TRY_CAST, which sqlglot does not tell from CAST."""
    views = [graph.views[name] for name in graph.closure(query.from_) if name in graph.views]
    return sum((view.sql or "").lower().count("try_cast") for view in views)


def _shared_changes(old: Graph, new: Graph, *, stateful: bool) -> Iterator[Change]:
    """Changes of fields that concern every query."""
    for field in field_changes(old.spec, new.spec):
        name = field.path.split(".")[0]
        if name == "suspend":
            does = "stops at a batch's end, and keeps its checkpoint" if new.spec.suspend else "starts again"
            yield Change("spec.suspend", f"{field.text}: every query {does}", Effect.CONTINUES)
        elif name in _LIVE:
            yield Change(f"spec.{name}", f"{field.text}: no driver restarts for it", Effect.LIVE)
        elif name == "timeZone":
            effect = Effect.MISREADS if stateful else Effect.CONTINUES
            text = f"{field.text}: days and hours of later rows are others"
            yield Change("spec.timeZone", text, effect, NEW_GENERATION if stateful else "")
    conf = old.spec.spark.conf, new.spec.spark.conf
    for key in sorted({*conf[0], *conf[1]}):
        if conf[0].get(key) == conf[1].get(key) or not key.startswith("spark.sql.") or not stateful:
            continue
        path = f"spec.spark.conf[{key}]"
        if key.endswith(("checkpointFormatVersion", "encodingFormat")):
            yield Change(
                path, "Spark refuses the state in another format", Effect.INCOMPATIBLE, NEW_GENERATION
            )
        elif not key.startswith(_TUNING):
            text = f"{key} changes: whether SQL gives the same values as before is unknown"
            yield Change(path, text, Effect.MISREADS, NEW_GENERATION)
