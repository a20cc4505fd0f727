"""The rules that need no Spark. Each yields problems; only a certain no refuses."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from mainstem.errors import Problem
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.rules import (
    connections,
    connectors,
    delta,
    deployment,
    expectations,
    files,
    functions,
    joins,
    kafka,
    limits,
    modes,
    owned,
    packages,
    patterns,
    places,
    plans,
    references,
    relations,
    secrets,
    sinkoptions,
    sinks,
    sqlnames,
    stateful,
    steps,
    tables,
    templates,
    triggers,
)
from mainstem.spec.rules.context import Context
from mainstem.spec.yamltext import Text


Rule = Callable[[Context], Iterator[Problem]]

MAX_PROBLEMS: Final = 100
"""Problems of one rule that are looked for: nobody reads more, and each costs a search for names that are near."""

SIZE: tuple[Rule, ...] = (limits.sql_size,)
"""Rules of documents that the others could not read in reasonable time."""

NAMING: tuple[Rule, ...] = (
    references.duplicate_names,
    references.relation_names,
    references.connections,
    references.query_relations,
    references.one_query_each,
    references.view_relations,
    expectations.predicates,
    references.cycles,
    limits.occurrences,
    functions.names,
    functions.java,
    steps.arguments,
    connections.servers,
    connections.endpoints,
    kafka.security,
    connections.databases,
    connectors.formats,
    connectors.options,
    connectors.catalogs,
    packages.versions,
    packages.files,
    packages.repositories,
    owned.options,
    sinkoptions.unknown,
    patterns.patterns,
    owned.client_properties,
    owned.spark_conf,
    secrets.secrets,
    places.locations,
    delta.starts,
    delta.changes,
    delta.merges,
    delta.conditions,
    delta.schemas,
    delta.maintenance,
    deployment.resources,
    deployment.memory,
    deployment.off_heap,
    deployment.executors,
    templates.shape,
    templates.metadata,
    templates.pod,
    templates.container,
)
"""Rules that hold for any document; the others make sense only once these pass."""

MEANING: tuple[Rule, ...] = (
    relations.decoding,
    relations.schemas,
    relations.kept,
    kafka.offsets,
    kafka.bounds,
    kafka.limits,
    files.schema,
    files.records,
    files.encodings,
    files.limits,
    files.cleaning,
    tables.versions,
    tables.names,
    tables.refreshes,
    relations.watermarks,
    relations.occurrences,
    relations.dead_letters,
    expectations.quarantines,
    relations.unread,
    relations.fault_tolerance,
    sqlnames.columns,
    sqlnames.ambiguous_columns,
    sqlnames.functions,
    functions.aggregates,
    steps.columns,
    steps.deduplication,
    steps.growth,
    stateful.fields,
    stateful.stores,
    stateful.modes,
    modes.sinks,
    connectors.modes,
    modes.aggregation,
    sinks.records,
    sinks.databases,
    sinks.columns,
    sinks.text,
    sinks.memory,
    triggers.eligible,
    triggers.async_progress,
    triggers.schedule,
    triggers.deprecated,
    triggers.drained_in_time,
    triggers.something_runs,
    plans.operators,
    plans.sets,
    plans.states,
    plans.keys,
    plans.window_ends,
    joins.joins,
    joins.equalities,
    joins.unbounded,
    joins.early,
    places.checkpoints,
    places.sinks,
    places.buckets,
)


def check(pipeline: StreamingPipeline, part: Text, values: Mapping[str, str]) -> list[Problem]:
    """Every problem of a well-shaped document, refusals and warnings, in the order of the file.

    Args:
        pipeline: the document with its parameters filled in.
        part: the text it was read from.
        values: what the parameters were filled with.
    """
    context = Context(pipeline, part, values)
    problems: list[Problem] = []
    for rules in (SIZE, NAMING, MEANING):
        problems += [problem for rule in rules for problem in islice(rule(context), MAX_PROBLEMS)]
        if any(not problem.warning for problem in problems):
            break
    return sorted(problems)
