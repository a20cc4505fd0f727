"""The rules that need no Spark, in their order. Each yields problems; only a certain mistake rejects the document."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from mainstem.errors import Problem
from mainstem.language.analysis.graph import Graph
from mainstem.language.rules.cluster import deployment, pod_templates
from mainstem.language.rules.connectors import (
    connections,
    custom_connectors,
    delta,
    files,
    kafka,
    owned_options,
    packages,
    paths,
    patterns,
    secrets,
    sink_options,
    sinks,
    tables,
)
from mainstem.language.rules.context import Context
from mainstem.language.rules.relations import (
    expectations,
    functions,
    limits,
    references,
    relations,
    schemas,
    sql_names,
    steps,
)
from mainstem.language.rules.streams import joins, modes, operators, stateful, triggers
from mainstem.language.yaml.yamltext import YamlText


Rule = Callable[[Context], Iterator[Problem]]

MAX_PROBLEMS: Final = 100
"""Problems of one rule that a check reports: nobody reads more, and each costs a search for similar names."""

SIZE: tuple[Rule, ...] = (limits.sql_size,)
"""Rules that reject documents that the other rules could not read in reasonable time."""

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
    custom_connectors.formats,
    custom_connectors.options,
    custom_connectors.catalogs,
    packages.versions,
    packages.files,
    packages.repositories,
    owned_options.options,
    sink_options.unknown,
    patterns.patterns,
    owned_options.client_properties,
    owned_options.spark_conf,
    secrets.secrets,
    paths.locations,
    delta.starts,
    delta.changes,
    delta.merges,
    delta.schemas,
    delta.maintenance,
    deployment.resources,
    deployment.memory,
    deployment.off_heap,
    deployment.executors,
    pod_templates.shape,
    pod_templates.metadata,
    pod_templates.pod,
    pod_templates.container,
)
"""Rules that hold for any document; the rules of `MEANING` make sense only once these pass."""

MEANING: tuple[Rule, ...] = (
    relations.decoding,
    schemas.avro,
    schemas.columns,
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
    sql_names.unread,
    sql_names.columns,
    sql_names.ambiguous_columns,
    sql_names.functions,
    functions.aggregates,
    steps.columns,
    steps.deduplication,
    steps.growth,
    stateful.fields,
    stateful.names,
    stateful.stores,
    stateful.modes,
    modes.sinks,
    custom_connectors.modes,
    modes.aggregation,
    sinks.records,
    sinks.databases,
    sinks.columns,
    sinks.repeated,
    sinks.types,
    sinks.text,
    sinks.memory,
    triggers.eligible,
    triggers.unused,
    triggers.async_progress,
    triggers.schedule,
    triggers.deprecated,
    triggers.drained_in_time,
    triggers.starts,
    triggers.something_runs,
    operators.operators,
    operators.sets,
    operators.states,
    operators.keys,
    operators.window_ends,
    joins.joins,
    joins.equalities,
    joins.unbounded,
    joins.early,
    paths.checkpoints,
    paths.sinks,
    paths.buckets,
)


def check(graph: Graph, part: YamlText, values: Mapping[str, str]) -> list[Problem]:
    """Every problem of a document with a valid shape, errors and warnings, in the order of the file.

    Args:
        graph: the graph of the document with its parameters filled in.
        part: the text from which it was read.
        values: the values of the parameters.
    """
    context = Context(graph, part, values)
    problems: list[Problem] = []
    for rules in (SIZE, NAMING, MEANING):
        problems += [problem for rule in rules for problem in islice(rule(context), MAX_PROBLEMS)]
        if any(not problem.warning for problem in problems):
            break
    return sorted(problems)
