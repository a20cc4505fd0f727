"""The rules in CEL that follow from the traits of connectors."""

from collections.abc import Iterator, Mapping
from typing import get_origin

from mainstem.language.model.connections import CONNECTIONS
from mainstem.language.model.connectors.kinds import ConnectorKind, FieldCondition, ModeRefusal
from mainstem.language.model.connectors.static_sources import TABLES
from mainstem.language.model.sinks import SINKS
from mainstem.language.model.sources import SOURCES
from mainstem.schema.cel import CelRule, escaped


def connections() -> Iterator[CelRule]:
    """The connection that a source, table or sink needs is there, and is of the right kind."""
    for key, kind in _connected(SOURCES):
        yield _connection(kind, "source", f"self.sources.all(s, !has(s.{key}) || {{}})", f"s.{key}")
    for key, kind in _connected(TABLES):
        scope = f"self.sources.all(s, !has(s.static) || !has(s.static.{key}) || {{}})"
        yield _connection(kind, "table", scope, f"s.static.{key}")
    for key, kind in _connected(SINKS):
        scope = f"self.queries.all(q, q.to.all(t, !has(t.{key}) || {{}}))"
        yield _connection(kind, "sink", scope, f"t.{key}")


def _connected(kinds: Mapping[str, type[ConnectorKind]]) -> Iterator[tuple[str, str]]:
    """The kinds whose field `connection` is required, each with the kind of the connection."""
    for key, kind in kinds.items():
        if kind.connection_kind and kind.model_fields["connection"].is_required():
            yield key, kind.connection_kind


def _connection(kind: str, part: str, scope: str, connector: str) -> CelRule:
    title = CONNECTIONS[kind].title
    named = f"self.connections.exists(c, c.name == {connector}.connection && has(c.{kind}))"
    message = f"each {title} {part} must name a {title} connection"
    return CelRule(scope.format(named), message, ".queries" if part == "sink" else ".sources", each=True)


def output_modes() -> Iterator[CelRule]:
    """The output modes that sinks refuse; kinds with the same refusal share a rule."""
    keys: dict[ModeRefusal, list[str]] = {}
    for key, kind in SINKS.items():
        for refusal in kind.refusals:
            keys.setdefault(refusal, []).append(key)
    for refusal, refusing in keys.items():
        sinks = " || ".join(_refused(key, refusal) for key in refusing)
        rule = f"{_allowed(refusal)}!self.to.exists(t, {sinks})"
        yield CelRule(rule, refusal.server, ".outputMode" if refusal.modes else ".to")


def _allowed(refusal: ModeRefusal) -> str:
    """The output modes that a refusal leaves, as the beginning of a rule."""
    if not refusal.modes:
        return ""
    if len(refusal.modes) == 1:
        return f"self.outputMode != '{refusal.modes[0]}' || "
    return "self.outputMode == 'append' || "


def _refused(key: str, refusal: ModeRefusal) -> str:
    sink = f"t.{escaped(key)}"
    return " && ".join([f"has({sink})", *(_holds(key, sink, each) for each in refusal.conditions)])


def _holds(key: str, sink: str, condition: FieldCondition) -> str:
    field = f"{sink}.{escaped(condition.field)}"
    if condition.value is not None:
        return f"{field} == '{condition.value}'"
    fields = {each.alias: each.annotation for each in SINKS[key].model_fields.values()}
    given = f"{field}.size() > 0" if get_origin(fields[condition.field]) is dict else f"has({field})"
    return given if condition.given else f"!{given}"
