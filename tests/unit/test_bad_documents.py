"""What a user reads of each mistake: place, words and reason, to the letter."""

import re
from collections.abc import Iterable
from pathlib import Path

import mainstem.language
import pytest
from documents.bad import BAD, BASE, Bad
from documents.bad_cluster import BAD_CLUSTER, CLUSTER
from documents.bad_connectors import BAD_CONNECTORS, CONNECTORS
from documents.bad_delta import BAD_DELTA, DELTA
from documents.bad_expectations import BAD_EXPECTATIONS, EXPECTING
from documents.bad_sinks import BAD_SINKS, SINKS
from documents.bad_steps import BAD_STEPS, STEPS
from documents.bad_triggers import BAD_TRIGGERS
from mainstem import reasons
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.language.document import read, read_text


ALL = BAD + BAD_CLUSTER + BAD_CONNECTORS + BAD_DELTA + BAD_EXPECTATIONS + BAD_SINKS + BAD_TRIGGERS + BAD_STEPS


def refused(text: str, overrides: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SpecInvalid) as caught:
        read_text(text, "f", overrides)
    return [problem.render("f").removeprefix("f:") for problem in without_ticks(caught.value.problems)]


def without_ticks(problems: Iterable[Problem]) -> list[Problem]:
    """All but the warning of the bases' generated rows."""
    return [problem for problem in problems if problem.reason != "NotFaultTolerant"]


def test_the_base_document_is_valid() -> None:
    (document,) = read_text(BASE)
    assert [warning.render("f") for warning in document.warnings] == [
        "f:23:7: warning: spec.sources[2].rate: not fault-tolerant, for demos and tests only: rate generates rows by the clock and keeps none [NotFaultTolerant]"
    ]
    assert document.pipeline.name == "flights"
    for base in (CLUSTER, CONNECTORS, DELTA, EXPECTING, SINKS, STEPS):
        (document,) = read_text(base)
        assert without_ticks(document.warnings) == []


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_a_bad_document_is_rejected_with_exactly_these_words(bad: Bad) -> None:
    assert refused(bad.document()) == list(bad.problems)


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        (
            SINKS,
            "parquet: {path: /lake/lines}",
            "text: {path: /lake/lines, partitionBy: [KEY, Topic, partition, offset, timestamp, timestamptype]}",
        ),
        (STEPS, "keys: [user]", 'keys: ["`USER`"]'),
        (EXPECTING, "length(value) < 80", '"exists(array(value), x -> x > 1)"'),
        (
            BASE,
            "{client.id: flights}",
            '{sasl.jaas.config: "acme.Krb5LoginModule required keyTab=/etc/secrets/app.keytab;"}',
        ),
    ],
    ids=["folders in another case", "a quoted key", "exists of an array", "a login without a credential"],
)
def test_a_document_that_spark_accepts_is_valid(base: str, old: str, new: str) -> None:
    assert old in base
    (document,) = read_text(base.replace(old, new))
    assert without_ticks(document.warnings) == []


def test_the_table_is_large_and_its_names_are_unique() -> None:
    assert len(BAD) >= 45
    assert len({bad.name for bad in ALL}) == len(ALL)


def test_every_reason_of_the_rules_is_in_the_table() -> None:
    folder = Path(str(mainstem.language.__file__)).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    known = {getattr(reasons, name) for name in re.findall(r"\breasons\.([A-Z_]+)\b", sources)}
    reasons_in_table = {
        reason for bad in ALL for line in bad.problems for reason in re.findall(r"\[(\w+)\]$", line)
    }
    # Documents that are too large to stand in a table are in test_language_cost.
    too_large = {"DocumentTooComplex", "TooManyOccurrences"}
    elsewhere = {
        "NotFaultTolerant",
        "TriggerUnused",
        "SqlNotRead",
        "StartsBehindWriter",
        "KeyWithoutQuotes",
        "WriterNotEnded",
        "BucketUnlisted",
        "NotOnePipeline",
    } | too_large
    assert elsewhere <= known
    assert known - elsewhere == reasons_in_table


def test_all_problems_are_reported_together_in_the_order_of_the_file() -> None:
    for name in ("five at once", "five rules at once"):
        (bad,) = (bad for bad in BAD if bad.name == name)
        lines = [int(line.partition(":")[0]) for line in refused(bad.document())]
        assert len(lines) == 5
        assert lines == sorted(lines)


def test_problems_of_every_document_of_a_file_are_reported() -> None:
    text = BASE.replace("from: weather", "from: wether")
    problems = refused(f"{text}---\n{text}")
    assert [line.split(":")[0] for line in problems] == ["60", str(60 + text.count("\n") + 1)]


def test_the_order_of_problems_does_not_depend_on_the_run() -> None:
    problems = [Problem(2, 1, "b", "x", "R"), Problem(1, 5, "a", "x", "R"), Problem(1, 2, "c", "x", "R")]
    assert SpecInvalid(problems).problems == SpecInvalid(problems[::-1]).problems
    assert [problem.line for problem in SpecInvalid(problems).problems] == [1, 1, 2]


def test_a_key_that_has_another_name_in_a_cluster_is_a_warning() -> None:
    labels = '{y: a, 1_000: b, 1.50: c, "on": d, 1.5: e, 12: f, 2026-01-01: g, .nan: h}'
    [document] = read_text(CLUSTER.replace("{team: data}", labels))
    named = [warning for warning in document.warnings if warning.reason == "KeyWithoutQuotes"]
    assert [warning.render("f").partition(": ")[2] for warning in named] == [
        f"warning: spec.driver.template.metadata.labels{key}: kubectl reads the key {name} as {read}; put it in quotes [KeyWithoutQuotes]"
        for key, name, read in (
            (".y", "y", "true"),
            ("[1_000]", "1_000", "the number 1000"),
            ("[1.50]", "1.50", "the number 1.5"),
        )
    ]


def test_an_unused_source_and_an_unlisted_bucket_are_warnings() -> None:
    text = BASE.replace("from: weather", "from: ticks").replace("checkpoints/flights", "elsewhere/flights")
    (document,) = read_text(text, "f")
    assert [warning.render("f") for warning in without_ticks(document.warnings)] == [
        "f:20:13: warning: spec.sources[1].name: no query reads 'weather' [UnusedSource]",
        "f:70:27: warning: spec.checkpoints.location: no S3 connection lists the bucket 'elsewhere'; AWS's own endpoint and credentials will be used [BucketUnlisted]",
    ]


def test_documents_of_other_kinds_are_ignored() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
    assert len(read_text(f"{other}---\n{BASE}---\n{other}")) == 1


def test_a_misspelt_kind_is_an_error() -> None:
    text = BASE.replace("kind: StreamingPipeline", "kind: Streamingpipeline")
    assert refused(f"{BASE}---\n{text}") == [
        f"{BASE.count(chr(10)) + 3}:7: kind: a StreamingPipeline is expected, found 'Streamingpipeline'; did you mean 'StreamingPipeline'? [WrongKind]"
    ]


def test_a_file_with_two_pipelines_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f"{BASE}---\n{BASE}", encoding="utf-8")
    with pytest.raises(SpecInvalid) as caught:
        read(file)
    assert [problem.render("f") for problem in caught.value.problems] == [
        "f:1:1: $: the file has 2 pipelines; use a file with exactly one [NotOnePipeline]"
    ]


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="No such file") as caught:
        read(tmp_path / "none.yaml")
    assert caught.value.reason == "FileNotReadable"
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe4\n")
    with pytest.raises(NotReady, match="it is not UTF-8"):
        read(tmp_path / "latin.yaml")


def test_an_unknown_override_is_rejected() -> None:
    assert refused(BASE, {"lak": "x", "other": "y"}) == [
        "6:5: spec.parameters: --set lak: the document has no parameter of this name; did you mean 'lake'? [UnknownParameter]",
        "6:5: spec.parameters: --set other: the document has no parameter of this name; the parameters are lake [UnknownParameter]",
    ]


def test_an_override_is_checked_like_written_text() -> None:
    assert refused(BASE, {"lake": "s3://lake"})[0] == (
        "26:21: spec.sources[3].static.csv.path: 's3://lake/airports.csv': unknown scheme s3:; did you mean s3a://? [UnknownScheme]"
    )


def test_a_long_override_does_not_move_the_position_of_a_problem() -> None:
    text = BASE.replace("-- every departure", "/* ${lake} */ -- every departure").replace(
        "airports a", "airport a"
    )
    for value in ("", "/x", "a\nb\nc", "y" * 500):
        places = [line.partition(": ")[0] for line in refused(text, {"lake": f"s3a://lake/{value}"})]
        assert places == ["33:19"], value
