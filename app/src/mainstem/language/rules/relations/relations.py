"""Rules for sources: decoding, watermarks, dead letters, occurrences."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.analysis.source_columns import column_types, complete_names, decoded_columns
from mainstem.language.loading.shape_validation import nearest_of
from mainstem.language.model.sources import Source
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_NO_RECORDS: Final = (
    "maxFuture needs a source with decode; leave it out, or use an expectation of a view: "
    "expect: at <= current_timestamp() + INTERVAL 1 HOUR"
)


def decoding(context: Context) -> Iterator[Problem]:
    """Decoding needs records: Kafka's, or the lines of text files."""
    for index, source in enumerate(context.spec.sources):
        if source.decode is None:
            continue
        path: Path = ("sources", index, "decode")
        if source.kafka is None and source.files is None:
            message = f"a {source.choice()} source has columns already; decode is for kafka and text files; leave it out"
            yield context.problem(path, message, reasons.DECODE_NOT_ALLOWED)
        elif source.files and source.files.format != "text":
            message = f"files of format {source.files.format} have columns already; decode needs format: text; leave decode out"
            if source.files.decoding:
                message += ", because files.schema decodes the records; set files.onMalformedRecord"
            yield context.problem(path, message, reasons.DECODE_NOT_ALLOWED)
        elif source.files and source.decode.keep:
            yield context.problem(
                (*path, "keep"), "only Kafka records have these columns", reasons.DECODE_NOT_ALLOWED
            )
        elif source.files and source.decode.on_tombstone == "skip":
            message = "only Kafka has records without a value; leave onTombstone out"
            yield context.problem((*path, "onTombstone"), message, reasons.DECODE_NOT_ALLOWED)
        elif source.files and source.decode.avro:
            message = "a line of text cannot hold an Avro record; read Avro records from Kafka"
            yield context.problem((*path, "avro"), message, reasons.DECODE_NOT_ALLOWED)


def kept(context: Context) -> Iterator[Problem]:
    """Columns in `decode.keep` exist in the record, and no decoded column has the same name."""
    for index, source in enumerate(context.spec.sources):
        if source.decode is None or source.kafka is None:
            continue
        decoded = decoded_columns(source.decode)
        for place, name in enumerate(source.decode.keep):
            path: Path = ("sources", index, "decode", "keep", place)
            if name == "headers" and not source.kafka.include_headers:
                message = "the record has no column 'headers' without kafka.includeHeaders: true"
                yield context.problem(path, message, reasons.UNKNOWN_COLUMN)
            elif name.lower() in {column.lower() for column in decoded or ()}:
                message = f"the schema has a column {name!r} already; leave the name out of keep, or rename the column in the schema"
                yield context.problem(path, message, reasons.DUPLICATE_COLUMN)


def watermarks(context: Context) -> Iterator[Problem]:
    """A watermark is on a column of a stream."""
    for index, source in enumerate(context.spec.sources):
        if source.watermark is None:
            continue
        path: Path = ("sources", index, "watermark")
        if source.static:
            yield context.problem(
                path,
                "a static source cannot have a watermark; leave watermark out",
                reasons.WATERMARK_NOT_ALLOWED,
            )
            continue
        if source.watermark.max_future is not None and source.decoding is None:
            yield context.problem((*path, "maxFuture"), _NO_RECORDS, reasons.FIELD_NOT_ALLOWED)
        known = complete_names(source)
        if known is not None and source.watermark.column.lower() not in {name.lower() for name in known}:
            name = source.watermark.column
            message = f"the source has no column {name!r}{nearest_of(name, known)}"
            yield context.problem((*path, "column"), message, reasons.UNKNOWN_COLUMN)
        if (kind := _declared(context, source, source.watermark.column)) is not None and not _is_time(kind):
            message = f"{source.watermark.column!r} is of type {kind}, and event time is a TIMESTAMP; declare it as one in the schema"
            yield context.problem((*path, "column"), message, reasons.WATERMARK_NOT_ALLOWED)
    for index, view in enumerate(context.spec.views):
        if view.watermark is not None and not context.graph.streams(view.name):
            message = "the view reads only static sources, which cannot have a watermark; leave watermark out"
            yield context.problem(("views", index, "watermark"), message, reasons.WATERMARK_NOT_ALLOWED)
        if view.watermark is not None and view.watermark.max_future is not None:
            yield context.problem(
                ("views", index, "watermark", "maxFuture"), _NO_RECORDS, reasons.FIELD_NOT_ALLOWED
            )


def _declared(context: Context, source: Source, column: str) -> str | None:
    """The type of a column by the document, where its schema decides it."""
    # A connector reads its schema as it likes, and two names may differ in case only.
    if source.spark or context.has_conf("spark.sql.caseSensitive"):
        return None
    return column_types(source).get(column.lower())


def _is_time(kind: str) -> bool:
    return kind == "TIMESTAMP" or kind.startswith("STRUCT")  # a window


def occurrences(context: Context) -> Iterator[Problem]:
    """A source that a query reads twice is `<name>_2` the second time; the name must be free."""
    taken = set(context.graph.names)
    for index, query in enumerate(context.spec.queries):
        for name, source in occurrence_names(context.graph, query.from_):
            if name != source and name in taken:
                message = (
                    f"the query reads {source!r} more than once, so one occurrence is called {name!r}, "
                    "but a relation of the document has that name; rename that relation"
                )
                yield context.problem(("queries", index, "from"), message, reasons.OCCURRENCE_NAME)


def dead_letters(context: Context) -> Iterator[Problem]:
    """Exactly one query reads a source's dead letters, so that each malformed record is written once."""
    for index, source in enumerate(context.spec.sources):
        if source.dead_letters is None:
            continue
        readers = context.readers(source.dead_letters)
        path: Path = ("sources", index, "decode" if source.decode else "files", "onMalformedRecord")
        if not readers:
            message = f"no query reads {source.dead_letters!r}, so malformed records would be lost; add a query that reads it, or use drop"
            yield context.problem(path, message, reasons.DEAD_LETTERS_UNREAD)
        elif len(readers := context.readers(source.dead_letters, certain=True)) > 1:
            message = f"{source.dead_letters!r} is read by {' and '.join(readers)}; only one query may read it, so change the others"
            yield context.problem(path, message, reasons.DEAD_LETTERS_READ_TWICE)


def unread(context: Context) -> Iterator[Problem]:
    """A warning: sources and views that no query reads."""
    used = {name for query in context.spec.queries for name in context.graph.closure(query.from_)}
    used |= {source.name for name, source in context.graph.dead_letters.items() if name in used}
    sources = [("sources", index, source.name) for index, source in enumerate(context.spec.sources)]
    views = [("views", index, view.name) for index, view in enumerate(context.spec.views)]
    for kind, index, name in sources + views:
        if name not in used:
            yield context.problem(
                (kind, index, "name"), f"no query reads {name!r}", reasons.UNUSED_SOURCE, warning=True
            )


def fault_tolerance(context: Context) -> Iterator[Problem]:
    """A warning: sources for demos and tests, whose rows cannot be read again."""
    for index, source in enumerate(context.spec.sources):
        if source.stream and source.stream.not_kept:
            message = f"not fault-tolerant, for demos and tests only: {source.stream.not_kept}"
            yield context.problem(
                ("sources", index, source.choice()),
                message,
                reasons.NOT_FAULT_TOLERANT,
                key=True,
                warning=True,
            )
