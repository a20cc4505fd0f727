"""Rules for paths: schemes, separate checkpoints, one writer for a folder, and one connection for a bucket."""

import re
from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.folders import normal, within
from mainstem.language.model.pipeline import PipelineSpec
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
_KNOWN: Final = ("s3a", "file")


def locations(context: Context) -> Iterator[Problem]:
    """A path is local, or has the scheme `file:` or `s3a:`; Spark has no scheme `s3:`."""
    for path, location in paths(context.spec):
        match = _SCHEME.match(location)
        if match and match[1] not in _KNOWN:
            hint = "; did you mean s3a://?" if match[1] in ("s3", "s3n") else "; use s3a:// or a local path"
            yield context.problem(
                path, f"{location!r}: unknown scheme {match[1]}:{hint}", reasons.UNKNOWN_SCHEME
            )
        elif match and match[1] == "s3a" and not re.match(r"^s3a://[^/]+", location):
            yield context.problem(
                path, f"{location!r} has no bucket; write s3a://bucket/path", reasons.BUCKET_MISSING
            )


def checkpoints(context: Context) -> Iterator[Problem]:
    """Two queries never share a checkpoint, also not by `checkpoint.onChange: newGeneration`."""
    queries: dict[str, str] = {}
    for index, query in enumerate(context.spec.queries):
        other = queries.setdefault(query.checkpoint_path, query.name)
        if other != query.name:
            message = f"the query {other!r} has the same checkpoint, {query.checkpoint_path!r}; give each query its own id"
            yield context.problem(("queries", index, "checkpoint", "id"), message, reasons.CHECKPOINT_SHARED)
        elif (neighbor := _next_to(context, query)) is not None:
            message = (
                f"the query {neighbor!r} has the same checkpoint.id, {query.checkpoint_id!r}, so onChange: newGeneration may "
                "take its generation; give each query its own id"
            )
            yield context.problem(
                ("queries", index, "checkpoint", "onChange"), message, reasons.CHECKPOINT_SHARED
            )


def _next_to(context: Context, query: Query) -> str | None:
    """Another query with a generation of the same checkpoint, if the query takes the next one by itself."""
    if query.checkpoint.on_change != "newGeneration":
        return None
    others = (each for each in context.spec.queries if each.name != query.name)
    return next((each.name for each in others if each.checkpoint_id == query.checkpoint_id), None)


def sinks(context: Context) -> Iterator[Problem]:
    """A folder of files has one writer, and each query writes a table once. Folders of sinks are neither nested, nor nested
    with the checkpoints, and no query writes a folder that it reads.
    """
    checkpoints = normal(context.spec.checkpoints.location)
    earlier: list[tuple[Query, Sink, str]] = []
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            written = sink.connector.main_path
            if written is None:
                continue
            path: Path = ("queries", index, "to", place, sink.choice(), "path")
            folder = normal(written)
            yield from _apart(context, path, (query, sink, folder), earlier)
            earlier.append((query, sink, folder))
            if within(folder, checkpoints):
                message = "the folder is inside checkpoints.location; use a folder outside of it"
                yield context.problem(path, message, reasons.FOLDER_IN_CHECKPOINTS)
            elif _visible_to_readers(folder, checkpoints):
                message = "checkpoints.location is inside this folder; move it out, or name it _checkpoints"
                yield context.problem(path, message, reasons.FOLDER_IN_CHECKPOINTS)
            if any(folder == normal(read) for read in _folders_read(context, query.from_)):
                message = "the query reads this folder and would read its own output; use another folder"
                yield context.problem(path, message, reasons.SINK_IS_SOURCE)


def _apart(
    context: Context, path: Path, own: tuple[Query, Sink, str], earlier: list[tuple[Query, Sink, str]]
) -> Iterator[Problem]:
    query, sink, folder = own
    for other, written, other_folder in earlier:
        if folder == other_folder:
            if other.name == query.name:
                # A table records its batches by the query's id: the second sink's batches would count as written.
                message = (
                    f"the sink {written.name!r} of this query writes this folder already; use another folder"
                )
                yield context.problem(path, message, reasons.FOLDER_SHARED)
                return
            if sink.files or written.files:
                message = (
                    f"the query {other.name!r} writes this folder already; use another folder for these files"
                )
                yield context.problem(path, message, reasons.FOLDER_SHARED)
                return
        elif within(folder, other_folder) or within(other_folder, folder):
            # VACUUM of a Delta table, and readers of a folder of files, treat all files below as part of it.
            message = (
                f"this folder and the folder of the query {other.name!r} are nested; use separate folders"
            )
            yield context.problem(path, message, reasons.FOLDER_SHARED)
            return


def buckets(context: Context) -> Iterator[Problem]:
    """Only one connection lists a bucket. A warning: the document has S3 connections, and none lists a bucket that it uses."""
    owner: dict[str, str] = {}
    for index, connection in enumerate(context.spec.connections):
        for place, bucket in enumerate(connection.s3.buckets if connection.s3 else ()):
            if owner.setdefault(bucket, connection.name) != connection.name:
                message = f"the connection {owner[bucket]!r} lists the bucket {bucket!r} already; remove it from one of them"
                path: Path = ("connections", index, "s3", "buckets", place)
                yield context.problem(path, message, reasons.BUCKET_SHARED)
    for path, location in paths(context.spec):
        match = re.match(r"^s3a://([^/]+)", location)
        if match and owner and match[1] not in owner:
            message = f"no S3 connection lists the bucket {match[1]!r}; AWS's own endpoint and credentials will be used"
            yield context.problem(path, message, reasons.BUCKET_UNLISTED, warning=True)


def _folders_read(context: Context, relation: str) -> Iterator[str]:
    for source in context.graph.sources_of(relation, certain=True):
        if source.static is None and (path := source.connector.main_path):
            yield path


def paths(spec: PipelineSpec) -> Iterator[tuple[Path, str]]:
    """Every file path of the document, each with the path of its field."""
    yield ("checkpoints", "location"), spec.checkpoints.location
    for at, connector in spec.connectors():
        yield from (((*at, *below), text) for below, text in connector.paths())


def _visible_to_readers(folder: str, checkpoints: str) -> bool:
    """True if readers of the folder, and Delta's VACUUM, treat the checkpoints as data. A leading `_` hides them."""
    return within(checkpoints, folder) and not checkpoints[len(folder) :].startswith("/_")
