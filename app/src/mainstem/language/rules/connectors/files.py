"""Rules for streams of files: schema, malformed records, encoding, limits and cleanup."""

import re
from collections.abc import Iterator, Mapping

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.folders import normal, within
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.model.connectors.file_source import DECODED, FilesSource
from mainstem.language.model.sources import Source
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


def _files(context: Context) -> Iterator[tuple[Path, str, FilesSource]]:
    for index, source in enumerate(context.spec.sources):
        if source.files:
            yield ("sources", index, "files"), source.name, source.files


def schema(context: Context) -> Iterator[Problem]:
    """A stream of structured files needs a schema, in the document or in a file. Text files have no schema."""
    for path, _, files in _files(context):
        given = [key for key in ("schema", "schemaFile") if files.member(key) is not None]
        if files.format == "text" and given:
            message = "text files have only the column value; set the schema in decode, or use another format"
            yield context.problem((*path, given[0]), message, reasons.SCHEMA_NOT_ALLOWED)
        elif files.format != "text" and not given:
            message = f"a stream of {files.format} files needs a schema; set one, such as 'carrier STRING, delay INT'"
            yield context.problem(path, message, reasons.SCHEMA_NEEDED)
        elif len(given) > 1:
            message = "schema and schemaFile both define the columns; remove one of them"
            yield context.problem((*path, "schemaFile"), message, reasons.FIELDS_CONFLICT)


def records(context: Context) -> Iterator[Problem]:
    """The fields about records are for files that have some: csv, json, or text with `decode`."""
    for path, _, files in _files(context):
        if files.on_malformed_record is not None and files.format not in DECODED:
            message = (
                "text files have onMalformedRecord in decode; move it there"
                if files.format == "text"
                else f"Spark reads a {files.format} file completely or not at all; remove onMalformedRecord"
            )
            yield context.problem((*path, "onMalformedRecord"), message, reasons.FIELD_NOT_ALLOWED, key=True)
        if files.allow_records_without_columns and files.format != "json":
            message = (
                "text files have allowRecordsWithoutColumns in decode.json; move it there"
                if files.format == "text"
                else f"only JSON objects name their columns, and these files are {files.format}; remove the field"
            )
            yield context.problem(
                (*path, "allowRecordsWithoutColumns"), message, reasons.FIELD_NOT_ALLOWED, key=True
            )


def encodings(context: Context) -> Iterator[Problem]:
    """The encoding of text files contains ASCII unchanged, because lines are split by their bytes."""
    for index, source in enumerate(context.spec.sources):
        for path, options in _texts(index, source):
            for key, value in options.items():
                if key.lower() in ("encoding", "charset") and re.match("utf-?(16|32)", value, re.IGNORECASE):
                    message = (
                        f"lines of {value} text cannot be split by their bytes; convert the files to UTF-8"
                    )
                    yield context.problem((*path, key), message, reasons.ENCODING_NOT_SUPPORTED)


def _texts(index: int, source: Source) -> Iterator[tuple[Path, Mapping[str, str]]]:
    if source.files and source.decoding:
        yield ("sources", index, "files", "options"), source.files.options
    if source.static and (kind := source.static.choice()) in DECODED:
        yield ("sources", index, "static", kind, "options"), source.static.member(kind).options


def limits(context: Context) -> Iterator[Problem]:
    """A batch is limited by files or by bytes, not by both."""
    for path, _, files in _files(context):
        if files.max_files_per_trigger and files.max_bytes_per_trigger:
            message = (
                "maxFilesPerTrigger limits a batch already, and Spark accepts one limit; remove one of them"
            )
            yield context.problem((*path, "maxBytesPerTrigger"), message, reasons.FIELDS_CONFLICT)


def cleaning(context: Context) -> Iterator[Problem]:
    """Files that are cleaned up have one reader, and do not move to a folder from which the source reads them again."""
    for path, name, files in _files(context):
        if files.clean_source is None:
            continue
        if len(readers := _readers(context, name)) > 1:
            message = (
                f"{' and '.join(readers)} read these files independently, so one can miss files that another "
                "one cleans up; remove cleanSource, or give each query its own folder"
            )
            yield context.problem((*path, "cleanSource"), message, reasons.CLEAN_SOURCE_SHARED)
        archive = files.clean_source.archive
        if archive is not None and _overlap(normal(archive), normal(files.path)):
            message = "the archive and the folder that is read are the same or nested; use separate folders"
            yield context.problem((*path, "cleanSource", "archive"), message, reasons.FOLDER_SHARED)


def _readers(context: Context, source: str) -> list[str]:
    """The query of each occurrence of the source or of its dead letters."""
    graph = context.graph
    names = (source, graph.sources[source].dead_letters)
    return [
        query.name
        for query in context.spec.queries
        for _, read in occurrence_names(graph, query.from_)
        if read in names and read in graph.closure(query.from_, certain=True)
    ]


def _overlap(archive: str, folder: str) -> bool:
    return within(archive, folder) or within(folder, archive)
