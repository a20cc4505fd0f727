"""Every kind of source, table, sink and connection has every trait, a valid and an invalid document, and a test of its
guarantee.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, get_origin, get_type_hints

import pytest
import yaml
from documents import DROP, VALID, Edit
from mainstem.dataframes.sinks.batches import own_writer
from mainstem.dataframes.sinks.writers import native_sink
from mainstem.dataframes.sources.static import open_table
from mainstem.dataframes.sources.streaming import open_stream
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.model.connections import CONNECTIONS
from mainstem.language.model.connectors.kinds import (
    OUTPUT_MODES,
    ConnectionKind,
    ConnectorKind,
    Delivery,
    Kind,
    SinkKind,
    SourceKind,
    TableKind,
)
from mainstem.language.model.connectors.static_sources import TABLES
from mainstem.language.model.sinks import SINKS, Sink
from mainstem.language.model.sources import SOURCES, Source
from mainstem.language.rules.streams.modes import refused
from mainstem.runtime.clients.reachability import server_error
from mainstem.runtime.preflight.inputs import missing_input
from mainstem.testing.inputs import declared


ROOT = Path(__file__).resolve().parents[2]
BASES: dict[str, type[Kind]] = {
    "source": SourceKind,
    "table": TableKind,
    "sink": SinkKind,
    "connection": ConnectionKind,
}
KINDS: dict[tuple[str, str], type[Kind]] = {
    **{("source", key): kind for key, kind in SOURCES.items()},
    **{("table", key): kind for key, kind in TABLES.items()},
    **{("sink", key): kind for key, kind in SINKS.items()},
    **{("connection", key): kind for key, kind in CONNECTIONS.items()},
}
IMPLEMENTED: list[tuple[str, tuple[Any, ...]]] = [
    ("source", (open_stream,)),
    ("source", (missing_input,)),
    ("source", (declared,)),
    ("table", (open_table,)),
    ("table", (missing_input,)),
    ("sink", (native_sink, own_writer)),
    ("connection", (server_error,)),
]
"""Functions by kind: each kind needs an implementation in one of a row's functions."""
METHODS = {"source": ("columns",), "table": ("columns",), "sink": ("guarantee",), "connection": ()}

BAD = {
    ("source", "kafka"): Edit("kafka-to-parquet", "sources/0/kafka/subscribePattern", "d.*", "NotExactlyOne"),
    ("source", "files"): Edit("files-csv", "sources/0/files/schema", DROP, "SchemaNeeded"),
    ("source", "delta"): Edit("delta-stream", "sources/0/delta/ignoreDeletes", True, "FieldsConflict"),
    ("source", "rate"): Edit("smallest", "sources/0/rate/rowsPerSecond", 0, "OutOfRange"),
    ("source", "rateMicroBatch"): Edit("generated", "sources/1/rateMicroBatch/rowsPerBatch", DROP, "MissingField"),
    ("source", "socket"): Edit("generated", "sources/2/socket/port", 0, "OutOfRange"),
    ("source", "spark"): Edit("connectors", "sources/0/spark/format", "kafka", "FormatOwned"),
    ("table", "csv"): Edit("static-csv", "sources/1/static/csv/options/header", "true", "OwnedOption"),
    ("table", "json"): Edit("static-others", "sources/1/static/json/options", {"mode": "x"}, "OwnedOption"),
    ("table", "orc"): Edit("static-others", "sources/2/static/orc/path", DROP, "MissingField"),
    ("table", "parquet"): Edit("static-others", "sources/3/static/parquet/path", "s3://a/b", "UnknownScheme"),
    ("table", "text"): Edit("static-tables", "sources/1/static/text/options", {"path": "/x"}, "OwnedOption"),
    ("table", "delta"): Edit("static-tables", "sources/2/static/delta/version", 3, "FieldsConflict"),
    ("table", "jdbc"): Edit("static-tables", "sources/4/static/jdbc/connection", "shops", "UnknownConnection"),
    ("table", "table"): Edit("static-tables", "sources/3/static/table/name", "parquet.`/x`", "FileInSql"),
    ("table", "spark"): Edit("connectors", "sources/1/static/spark/connection", "none", "UnknownConnection"),
    ("sink", "kafka"): Edit("kafka-to-kafka", "queries/0/to/0/kafka/connection", "afar", "UnknownConnection"),
    ("sink", "delta"): Edit("merge-by-key", "queries/0/to/0/delta/merge", DROP, "MergeNeeded"),
    ("sink", "parquet"): Edit("files-csv", "queries/0/to/0/parquet/options", {"path": "/x"}, "OwnedOption"),
    ("sink", "orc"): Edit("files-of-all-kinds", "queries/0/outputMode", "update", "OutputModeNotAllowed"),
    ("sink", "csv"): Edit("files-of-all-kinds", "queries/1/to/0/csv/path", "hdfs://a/b", "UnknownScheme"),
    ("sink", "json"): Edit("files-of-all-kinds", "queries/2/to/0/json/path", DROP, "MissingField"),
    ("sink", "text"): Edit("files-of-all-kinds", "queries/3/to/0/text/options", {"extension": "a"}, "OwnedOption"),
    ("sink", "jdbc"): Edit("several-sinks", "queries/1/to/2/jdbc/upsert", DROP, "UpsertNeeded"),
    ("sink", "spark"): Edit("connectors", "queries/0/to/0/spark/mode", "stream", "SinkModeNotAllowed"),
    ("sink", "python"): Edit("python-sinks", "queries/0/to/0/python/foreach", "acme.sinks.Rows", "InvalidName"),
    ("sink", "console"): Edit("kafka-assign", "queries/0/to/0/console/truncate", "no", "InvalidType"),
    ("sink", "memory"): Edit("python-sinks", "queries/1/to/1/memory/rows", 1, "UnknownField"),
    ("sink", "noop"): Edit("several-sinks", "queries/1/to/4/noop/rows", 1, "UnknownField"),
    ("connection", "kafka"): Edit("kafka-secured", "connections/0/kafka/security", {}, "SecurityEmpty"),
    ("connection", "s3"): Edit("s3-of-the-cloud", "connections/0/s3/buckets/0", "s3a://lake", "InvalidName"),
    ("connection", "jdbc"): Edit("static-tables", "connections/0/jdbc/url", "mariadb://shop", "InvalidAddress"),
    ("connection", "spark"): Edit("connectors", "connections/0/spark/secretOptions/connection.uri/key", "../uri", "InvalidName"),
    ("connection", "catalog"): Edit("connectors", "connections/2/name", "session", "DuplicateName"),
}  # fmt: skip
"""For each kind a document that it refuses, and the reason."""

_KILL = "tests/services/test_kill.py::test_kills_lose_and_repeat_nothing"
_FOLDER = "tests/spark/test_file_sinks.py::test_a_directory_is_exact_after_a_crash_within_a_batch"
GUARANTEE_TESTS = {
    ("source", "kafka", Delivery.EXACTLY_ONCE): _KILL,
    ("source", "files", Delivery.EXACTLY_ONCE): "tests/spark/test_file_names.py::test_each_file_of_a_stream_is_read_once_for_any_name",
    ("source", "delta", Delivery.EXACTLY_ONCE): "tests/services/test_medallion.py::test_the_medallion_sample_is_exact_through_a_kill",
    ("sink", "kafka", Delivery.AT_LEAST_ONCE): "tests/services/test_kafka_sink.py::test_a_repeated_batch_is_in_the_topic_twice_and_none_is_lost",
    ("sink", "delta", Delivery.EXACTLY_ONCE): _KILL,
    ("sink", "parquet", Delivery.EXACTLY_ONCE): _FOLDER,
    ("sink", "orc", Delivery.EXACTLY_ONCE): _FOLDER,
    ("sink", "csv", Delivery.EXACTLY_ONCE): _FOLDER,
    ("sink", "json", Delivery.EXACTLY_ONCE): _FOLDER,
    ("sink", "text", Delivery.EXACTLY_ONCE): _FOLDER,
    ("sink", "jdbc", Delivery.EXACTLY_ONCE): "tests/services/test_jdbc.py::test_a_driver_killed_between_staging_and_commit_writes_the_batch_once",
    ("sink", "jdbc", Delivery.AT_LEAST_ONCE): "tests/services/test_connectors.py::test_the_sample_reads_and_writes_mariadb_with_its_driver",
    ("sink", "python", Delivery.AT_LEAST_ONCE): "tests/spark/test_python_sinks.py::test_a_function_of_batches_gets_the_same_number_for_a_repeated_batch",
}  # fmt: skip
"""For each kind and each of its guarantees the test that proves it."""


def documents() -> Iterator[Any]:
    for text in VALID.values():
        [document] = read_text(text)
        yield document.pipeline.spec


def written() -> Iterator[tuple[tuple[str, str], Kind]]:
    """Every connection, source, table and sink of the valid documents, with its kind."""
    for spec in documents():
        for connection in spec.connections:
            yield ("connection", connection.choice()), connection.settings
        for source in spec.sources:
            if source.static:
                yield ("table", source.static.choice()), source.static.connector
            else:
                yield ("source", source.choice()), source.connector
        for query in spec.queries:
            yield from ((("sink", sink.choice()), sink.connector) for sink in query.to)


WRITTEN = list(written())


def guarantees() -> set[tuple[str, str, Delivery]]:
    """Every guarantee that the kinds of the valid documents give."""
    read = {(part, key, kind.delivery) for (part, key), kind in WRITTEN if isinstance(kind, SourceKind)}
    return read | {
        (part, key, kind.guarantee().delivery) for (part, key), kind in WRITTEN if isinstance(kind, SinkKind)
    }


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_kind_has_every_trait(kind: tuple[str, str]) -> None:
    model, base = KINDS[kind], BASES[kind[0]]
    assert issubclass(model, base)
    traits = {name for name, hint in get_type_hints(base).items() if get_origin(hint) is ClassVar}
    assert {"options_field", "owned_options"} <= traits
    missing = [name for name in traits if not hasattr(model, name)]
    missing += [name for name in METHODS[kind[0]] if getattr(model, name) is getattr(base, name)]
    assert missing == []


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_the_traits_of_a_kind_name_its_own_fields(kind: tuple[str, str]) -> None:
    model: Any = KINDS[kind]
    keys = {field.alias for field in model.model_fields.values()}
    assert {model.options_field} <= {"", *keys}
    assert all(option == option.lower() for option in model.owned_options)
    if issubclass(model, ConnectorKind):
        assert model.connection_kind is None or {"connection"} <= keys
        assert model.connection_kind is None or model.connection_kind in CONNECTIONS
    if issubclass(model, SourceKind):
        assert set(model.real_time_refuses) <= keys
        assert bool(model.not_kept) == (model.delivery is Delivery.NOT_KEPT)
    if issubclass(model, SinkKind):
        assert {model.real_time_alternative} <= {"", *model.one_of}
        for refusal in model.refusals:
            assert set(refusal.modes) <= set(OUTPUT_MODES)
            assert {refusal.field} <= {"", *keys}
            assert {condition.field for condition in refusal.conditions} <= keys


@pytest.mark.parametrize(("part", "functions"), IMPLEMENTED)
def test_every_kind_has_an_implementation_of_what_is_done_by_kind(
    part: str, functions: tuple[Any, ...]
) -> None:
    kinds = {key: kind for (of_part, key), kind in KINDS.items() if of_part == part}
    missing = [
        key
        for key, kind in kinds.items()
        if all(function.dispatch(kind) is function.dispatch(object) for function in functions)
    ]
    assert missing == [], [f"{function.__module__}.{function.__name__}" for function in functions]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_kind_stands_in_a_valid_document(kind: tuple[str, str]) -> None:
    assert kind in dict(WRITTEN)


def test_each_kind_has_a_bad_document() -> None:
    assert set(BAD) == set(KINDS)


@pytest.mark.parametrize("kind", BAD, ids="-".join)
def test_a_bad_document_of_a_kind_is_refused_for_its_reason(kind: tuple[str, str]) -> None:
    edit = BAD[kind]
    with pytest.raises(SpecInvalid) as caught:
        read_text(yaml.safe_dump(edit.document()))
    assert edit.reason in {problem.reason for problem in caught.value.problems}


def test_each_guarantee_has_a_test() -> None:
    promised = {
        guarantee
        for guarantee in guarantees()
        if guarantee[2] in (Delivery.EXACTLY_ONCE, Delivery.AT_LEAST_ONCE)
    }
    assert set(GUARANTEE_TESTS) == promised


@pytest.mark.parametrize("name", sorted(set(GUARANTEE_TESTS.values())))
def test_the_test_of_a_guarantee_is_there(name: str) -> None:
    path, _, function = name.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("sink", "mode", "reason"),
    [
        ({"orc": {"path": "/x"}}, "complete", "OutputModeNotAllowed"),
        ({"delta": {"path": "/x"}}, "complete", None),
        ({"delta": {"path": "/x"}}, "update", "MergeNeeded"),
        ({"delta": {"path": "/x", "merge": {"keys": ["a"]}}}, "update", None),
        ({"delta": {"path": "/x", "merge": {"keys": ["a"]}}}, "complete", "OutputModeNotAllowed"),
        ({"delta": {"path": "/x", "merge": {"keys": ["a"]}, "options": {"a": "b"}}}, "append", "OptionsNotAllowed"),
        ({"jdbc": {"connection": "c", "table": "t"}}, "update", "UpsertNeeded"),
        ({"jdbc": {"connection": "c", "table": "t", "delivery": "atLeastOnce"}}, "append", None),
        ({"jdbc": {"connection": "c", "table": "t", "delivery": "atLeastOnce"}}, "update", "OutputModeNotAllowed"),
        ({"kafka": {"connection": "c", "topic": "t"}}, "complete", None),
    ],
)  # fmt: skip
def test_a_sink_refuses_the_output_modes_that_it_does_not_write(
    sink: dict[str, Any], mode: str, reason: str | None
) -> None:
    refusal = refused(Sink.model_validate({"name": "s", **sink}), mode)
    assert (refusal.reason if refusal else None) == reason


def test_a_static_source_has_the_traits_of_its_table() -> None:
    source = Source.model_validate({"name": "s", "static": {"delta": {"path": "/x"}}})
    assert source.stream is None
    assert source.connector_path == ("static", "delta")
    assert source.connector.main_path == "/x"
