"""Connectors and catalogs of the user: rejected classes of Spark, redacted secrets, documents of the page."""

import re
import zipfile
from pathlib import Path

import pytest
from documents import VALID
from mainstem import logs
from mainstem.explain import meaning, text
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read, read_text
from mainstem.language.requirements import used
from mainstem.language.rules.connectors.custom_connectors import _OWN_CLASSES, KNOWN
from mainstem.runtime.spark import command_line
from mainstem.runtime.spark.conf import redaction


ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "k8s" / "samples" / "connectors"
REGISTER = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"


def graph_of() -> Graph:
    [document] = read_text(VALID["connectors"])
    return document.graph


def classes() -> list[str]:
    """Every connector that Spark and Mainstem bring, by its class."""
    import mainstem_jars

    names_of_classes = []
    for jar in [*(command_line.spark_home() / "jars").glob("*.jar"), *mainstem_jars.paths()]:
        with zipfile.ZipFile(jar) as packed:
            if REGISTER in packed.namelist():
                names_of_classes += packed.read(REGISTER).decode().splitlines()
    return [line.strip() for line in names_of_classes if line.strip() and not line.startswith("#")]


def test_built_in_connectors_of_spark_are_rejected_by_class_name() -> None:
    names_of_classes = classes()
    assert len(names_of_classes) >= 18
    assert [name for name in names_of_classes if not _OWN_CLASSES.match(name)] == []


@pytest.mark.parametrize(
    "name", ["org.apache.spark.sql.cassandra", "mongodb", "com.example.json.Reader", "pulsar"]
)
def test_third_party_connectors_are_accepted(name: str) -> None:
    assert not _OWN_CLASSES.match(name)
    assert name not in KNOWN


def test_the_delivery_guarantee_of_a_connector_is_shown_as_unknown() -> None:
    [named] = meaning(graph_of(), "named")["queries"]
    assert named["sinks"][0]["promise"].startswith("delivery: not known: depends on the connector")
    assert named["sinks"][1]["promise"].endswith("may be written again, or a part of it")
    [source] = [read for read in named["reads"] if read["relation"] == "changes"]
    assert source["promise"] == "reading again after a failure: not known: depends on the connector"
    assert source["promise"] in text(meaning(graph_of(), "named"))


def test_secrets_of_connectors_and_catalogs_are_mounted() -> None:
    mounted = {connection.name: connection.secrets for connection in graph_of().spec.connections}
    assert mounted == {"mongo": ("mongo",), "shop": ("mariadb",), "stock": ("mariadb",)}


def test_a_query_uses_the_connections_of_its_connectors() -> None:
    graph = graph_of()
    by_name = {query.name: query for query in graph.spec.queries}
    assert used(graph, [by_name["named"]]) == {"mongo", "shop"}
    assert used(graph, [by_name["numbers"]]) == set()


def test_options_from_secrets_are_redacted_in_plans_and_in_the_spark_ui() -> None:
    patterns = redaction(graph_of().pipeline)
    options = re.compile(patterns["spark.sql.redaction.options.regex"])
    assert options.search("connection.uri")
    assert options.search("url")
    assert not options.search("connection_uri.timeout")
    properties = re.compile(patterns["spark.redaction.regex"])
    assert properties.search("spark.sql.catalog.stock.connection.uri")
    assert properties.search("spark.hadoop.fs.s3a.secret.key")
    assert not properties.search("spark.sql.catalog.stock.url")


def test_values_of_connector_secrets_are_redacted_in_messages() -> None:
    logs.hide(["a-value-of-a-connector", "short"])
    assert logs.redact("refused: a-value-of-a-connector; short") == "refused: *****; short"


def test_the_page_shows_the_documents_that_run() -> None:
    page = (ROOT / "docs" / "connectors.md").read_text(encoding="utf-8")
    for file in SAMPLES.iterdir():
        if file.is_file():
            assert (
                f"```{'python' if file.suffix == '.py' else 'yaml'}\n{file.read_text(encoding='utf-8')}```"
                in page
            )


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_a_document_of_the_page_is_valid_without_a_warning(file: Path) -> None:
    assert read(file).warnings == ()
