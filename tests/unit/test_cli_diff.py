"""`mainstem diff`: the table, the lines of the changes, the exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from mainstem.cli import main


DOCUMENT = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: flights}
spec:
  sources:
    - name: flights
      files: {path: /data/in, format: json, schema: "carrier STRING, ts TIMESTAMP"}
      watermark: {column: ts, delay: 1 hour}
  views:
    - name: daily
      sql: SELECT window(ts, '1 day') AS w, count(*) AS n FROM flights GROUP BY 1
    - name: late
      sql: SELECT * FROM flights WHERE carrier = 'x'
  queries:
    - {name: daily, from: daily, outputMode: update, to: [{name: nowhere, noop: {}}]}
    - {name: late, from: late, to: [{name: nowhere, noop: {}}]}
    - {name: raw, from: flights, to: [{name: nowhere, noop: {}}]}
    - {name: old, from: flights, to: [{name: nowhere, noop: {}}]}
  checkpoints: {location: /data/checkpoints}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A document and its next version, with a change of each kind."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(DOCUMENT)
    changed = DOCUMENT.replace("1 day", "1 hour").replace("'x'", "'y'")
    new.write_text("".join(line for line in changed.splitlines(True) if "name: old" not in line))
    return old, new


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["diff", *map(str, arguments)], env={"COLUMNS": "80"})
    return result.exit_code, result.output


def test_the_table_has_the_effect_of_each_query(files: tuple[Path, Path]) -> None:
    code, text = run(*files)
    assert code == 5
    rows = [line.split()[:2] for line in text.splitlines()[1:5]]
    assert rows == [["daily", "misreads"], ["late", "continues"], ["raw", "unchanged"], ["old", "removed"]]


def test_a_change_has_its_line_and_the_way_out(files: tuple[Path, Path]) -> None:
    old, new = files
    _, text = run(old, new)
    assert f"{new}:11: spec.views[daily].sql [misreads]" in text
    assert f"{old}:18: spec.queries[old] [removed]" in text
    assert "to do: undo the change, or raise checkpoint.generation" in text


def test_no_line_of_the_text_is_wider_than_the_terminal(files: tuple[Path, Path]) -> None:
    _, text = run(*files)
    assert max(len(line) for line in text.splitlines() if str(files[0].parent) not in line) <= 80


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("1 day", "1 hour"), "A running driver refuses this document"),
        (("'x'", "'y'"), "only the queries that it concerns restart"),
        (
            ("spec:\n", "spec:\n  image: flights:2\n"),
            "The driver restarts for spec.image. Then each query",
        ),
        (("spec:\n", "spec:\n  drain: {timeout: 90 seconds}\n"), "Nothing restarts."),
        (
            ("name: raw, from: flights,", "name: raw, from: flights, checkpoint: {generation: 2},"),
            "only the queries that it concerns restart",
        ),
    ],
)
def test_the_last_lines_name_what_the_running_driver_does(
    files: tuple[Path, Path], change: tuple[str, str], line: str
) -> None:
    files[1].write_text(DOCUMENT.replace(*change))
    _, text = run(*files)
    assert line in " ".join(text.split())


@pytest.mark.parametrize(
    ("setting", "effect", "consequence", "last"),
    [
        (
            "checkpoint: {onChange: newGeneration}",
            "empty",
            "starts with an empty checkpoint, by checkpoint.onChange",
            "The driver restarts for the empty checkpoint of the query daily. Then each query",
        ),
        (
            "checkpoint: {onChange: keep}",
            "misreads",
            "continues from its checkpoint and may misread it, by checkpoint.onChange",
            "only the queries that it concerns restart",
        ),
        (
            "suspend: true",
            "misreads",
            "stays suspended, and cannot continue from its checkpoint when it is resumed",
            "",
        ),
    ],
)
def test_the_table_and_the_exit_code_follow_the_choice_of_the_query(
    files: tuple[Path, Path], setting: str, effect: str, consequence: str, last: str
) -> None:
    accepted = DOCUMENT.replace("{name: daily, from", f"{{name: daily, {setting}, from")
    files[0].write_text(accepted)
    files[1].write_text(accepted.replace("1 day", "1 hour"))
    code, text = run(*files)
    words = " ".join(text.split())
    assert (code, text.splitlines()[1].split()[1]) == (0, effect)
    assert consequence in words
    assert last in words
    verdict = json.loads(run(*files, "--output", "json")[1])
    assert (verdict["refused"], verdict["queries"][0]["effect"]) == ([], effect)


@pytest.mark.parametrize(
    "arguments", [("a.yaml",), ("a.yaml", "b.yaml", "--cluster"), ("a.yaml", "b.yaml", "--namespace", "team")]
)
def test_two_documents_or_one_and_a_cluster_are_compared(arguments: tuple[str, ...]) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert "--cluster" in text


def test_json_has_the_same_for_programs(files: tuple[Path, Path]) -> None:
    code, text = run(*files, "--output", "json")
    verdict = json.loads(text)
    assert code == 5
    assert verdict["refused"] == ["daily"]
    [change] = verdict["queries"][1]["changes"]
    assert (change["path"], change["effect"], change["line"]) == ("spec.views[late].sql", "continues", 13)


def test_equal_documents_restart_nothing(files: tuple[Path, Path]) -> None:
    code, text = run(files[0], files[0])
    assert code == 0
    assert text.splitlines()[-1] == "Nothing restarts."


def test_an_invalid_document_is_reported_as_validate_reports_it(files: tuple[Path, Path]) -> None:
    files[1].write_text(DOCUMENT.replace("from: late", "from: lake"))
    code, text = run(*files)
    assert code == 3
    assert str(files[1]) in text
    assert "lake" in text
