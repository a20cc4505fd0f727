"""Paths: checkpoints are never shared, a folder has one writer, and buckets are written as Spark reads them."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.pipeline import PipelineSpec
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
_KNOWN: Final = ("s3a", "file")


def locations(context: Context) -> Iterator[Problem]:
    """A path is local, `file:` or `s3a:`; `s3:` is not a scheme of Spark's."""
    for path, place in paths(context.spec):
        match = _SCHEME.match(place)
        if match and match[1] not in _KNOWN:
            hint = "; did you mean s3a://?" if match[1] in ("s3", "s3n") else "; use s3a:// or a local path"
            yield context.problem(
                path, f"{place!r}: unknown scheme {match[1]}:{hint}", reasons.UNKNOWN_SCHEME
            )
        elif match and match[1] == "s3a" and not re.match(r"^s3a://[^/]+", place):
            yield context.problem(
                path, f"{place!r} names no bucket: s3a://bucket/path", reasons.BUCKET_MISSING
            )


def checkpoints(context: Context) -> Iterator[Problem]:
    """Two queries never share a checkpoint."""
    seen: dict[str, str] = {}
    for index, query in enumerate(context.spec.queries):
        other = seen.setdefault(query.checkpoint_path, query.name)
        if other != query.name:
            message = f"shares the checkpoint {query.checkpoint_path!r} with the query {other!r}; give it its own id"
            yield context.problem(("queries", index, "checkpoint", "id"), message, reasons.CHECKPOINT_SHARED)


def sinks(context: Context) -> Iterator[Problem]:
    """A folder of files has one writer, a table one of each query, no folder lies in another, and none is what the query
    reads or its checkpoints.
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
                message = "lies within checkpoints.location; keep them apart"
                yield context.problem(path, message, reasons.FOLDER_IN_CHECKPOINTS)
            elif _seen_by_readers(folder, checkpoints):
                message = (
                    "checkpoints.location lies within this folder; keep them apart, or call it _checkpoints"
                )
                yield context.problem(path, message, reasons.FOLDER_IN_CHECKPOINTS)
            if any(folder == normal(read) for read in _folders_read(context, query.from_)):
                message = "the query reads this folder; it would read its own output"
                yield context.problem(path, message, reasons.SINK_IS_SOURCE)


def _apart(
    context: Context, path: Path, own: tuple[Query, Sink, str], earlier: list[tuple[Query, Sink, str]]
) -> Iterator[Problem]:
    query, sink, folder = own
    for other, written, taken in earlier:
        if folder == taken:
            if other.name == query.name:
                # A table keeps the batches that it has by the query's id: the second sink's would count as written.
                message = (
                    f"the sink {written.name!r} writes this folder already; a query writes a folder once"
                )
                yield context.problem(path, message, reasons.FOLDER_SHARED)
                return
            if sink.files or written.files:
                message = (
                    f"the query {other.name!r} writes this folder already; a folder of files has one writer"
                )
                yield context.problem(path, message, reasons.FOLDER_SHARED)
                return
        elif within(folder, taken) or within(taken, folder):
            # VACUUM of a Delta table, and every reader of a folder of files, take what lies below as their own.
            message = f"one of this folder and that of the query {other.name!r} lies within the other; keep them apart"
            yield context.problem(path, message, reasons.FOLDER_SHARED)
            return


def buckets(context: Context) -> Iterator[Problem]:
    """Only one connection lists a bucket; a warning if the document has S3 connections, and none lists it."""
    owner: dict[str, str] = {}
    for index, connection in enumerate(context.spec.connections):
        for place, bucket in enumerate(connection.s3.buckets if connection.s3 else ()):
            if owner.setdefault(bucket, connection.name) != connection.name:
                message = f"the bucket {bucket!r} belongs to the connection {owner[bucket]!r} already"
                path: Path = ("connections", index, "s3", "buckets", place)
                yield context.problem(path, message, reasons.BUCKET_SHARED)
    for path, place_text in paths(context.spec):
        match = re.match(r"^s3a://([^/]+)", place_text)
        if match and owner and match[1] not in owner:
            message = f"no S3 connection lists the bucket {match[1]!r}; AWS's own endpoint and credentials will be used"
            yield context.problem(path, message, reasons.BUCKET_UNLISTED, warning=True)


def _folders_read(context: Context, relation: str) -> Iterator[str]:
    for source in context.graph.sources_of(relation, certain=True):
        if source.static is None and (path := source.connector.main_path):
            yield path


def paths(spec: PipelineSpec) -> Iterator[tuple[Path, str]]:
    """Every path of the document: where it stands, and what it says."""
    yield ("checkpoints", "location"), spec.checkpoints.location
    for at, connector in spec.connectors():
        yield from (((*at, *below), text) for below, text in connector.paths())


def normal(path: str) -> str:
    """One spelling for a folder: no `file:`, no `.` or `..`, no slash doubled or at the end.

    >>> normal("./lake//a/../b/"), normal("file:///lake/a"), normal("s3a://lake//a/")
    ('lake/b', '/lake/a', 's3a://lake/a')
    """
    bucket = re.match(r"^s3a://[^/]*", path)
    start = bucket[0] if bucket else ""
    rest = re.sub(r"/+", "/", path[len(start) :] if bucket else re.sub(r"^file:/+", "/", path))
    return (start + posixpath.normpath(rest or "/")).rstrip("/")


def _seen_by_readers(folder: str, checkpoints: str) -> bool:
    """True where readers of the folder, and Delta's VACUUM, take the checkpoints for data: a leading _ hides them."""
    return within(checkpoints, folder) and not checkpoints[len(folder) :].startswith("/_")


def within(folder: str, above: str) -> bool:
    """True for a folder and all that lies below it; both are `normal`."""
    return folder == above or folder.startswith(above + "/")
