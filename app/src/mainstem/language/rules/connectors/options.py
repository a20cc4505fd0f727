"""The maps of options and arguments that Spark or user code receives, and the owned options of each.

The document has a field for an owned option, or Mainstem sets it.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mainstem.language.model.connectors.file_source import LAYOUT
from mainstem.language.model.connectors.kinds import Kind
from mainstem.language.model.sources import Source
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


OptionMap = tuple[Path, Mapping[str, str], Mapping[str, str]]
"""The path of a map of options, its entries, and its owned options (option -> what to use instead)."""

_PARSER: Final = {"mode": "onMalformedRecord", "columnnameofcorruptrecord": "onMalformedRecord"}
_FILE_LAYOUT: Final = dict.fromkeys(sorted(LAYOUT - {"comment"}), "options of files")
_DECODE: Final = {
    "json": _PARSER | _FILE_LAYOUT,
    "csv": _PARSER | _FILE_LAYOUT | {"maxcolumns": ""},
    "avro": {"mode": "onMalformedRecord", "avroschema": "schema", "avroschemaurl": "schemaFile"},
}


def maps(context: Context) -> Iterator[OptionMap]:
    """Every map of options and arguments of a document, each with its path and its owned options."""
    for index, connection in enumerate(context.spec.connections):
        at: Path = ("connections", index, connection.choice())
        yield from _map(at, connection.settings, connection.settings.owned_options)
    for index, source in enumerate(context.spec.sources):
        yield from _source_maps(("sources", index), source)
    for index, view in enumerate(context.spec.views):
        if view.python:
            yield ("views", index, "python", "arguments"), view.python.arguments, {}
        if view.state:
            yield ("views", index, "state", "arguments"), view.state.arguments, {}
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            at = ("queries", index, "to", place, sink.choice())
            yield from _map(at, sink.connector, sink.connector.owned_options)


def _source_maps(at: Path, source: Source) -> Iterator[OptionMap]:
    owned = source.connector.owned(decoded=source.decode is not None)
    yield from _map((*at, *source.connector_path), source.connector, owned)
    if source.decode and (kind := source.decode.choice()) in _DECODE:
        yield (*at, "decode", kind, "options"), source.decode.member(kind).options, _DECODE[kind]


def _map(at: Path, kind: Kind, owned: Mapping[str, str]) -> Iterator[OptionMap]:
    if kind.options_field:
        yield (*at, kind.options_field), kind.given_options(), owned
