"""`mainstem validate`: from standard input, and as JSON."""

import json
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from documents import VALID
from mainstem.cli import main


SMALLEST = VALID["smallest"]
INVALID = SMALLEST.replace("rate: {}", "rate: {rows: 5}")
CASES = """\
apiVersion: mainstem.dev/v1alpha1
kind: PipelineTest
pipeline: bad.yaml
cases:
  - name: nothing
    steps: [{given: {ticks: []}, expect: {queries: {show: []}}}]
"""
ROOT = Path(__file__).resolve().parents[2]


def validate(folder: Path, *arguments: str, given: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output and standard error; only a process of its own has a standard input of its own."""
    if "-" not in arguments:
        with chdir(folder):
            result = CliRunner().invoke(main, ["validate", *arguments])
        return result.exit_code, result.stdout, result.stderr
    command = [sys.executable, "-m", "mainstem", "validate", *arguments]
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def shown(folder: Path, *arguments: str, given: bytes = b"") -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and the files of the JSON; nothing else is written."""
    code, output, errors = validate(folder, "--output", "json", *arguments, given=given)
    assert errors == ""
    files: list[dict[str, Any]] = json.loads(output)["files"]
    return code, files


def test_a_document_from_standard_input_has_its_lines(tmp_path: Path) -> None:
    assert validate(tmp_path, "-", given=SMALLEST.encode())[:2] == (
        0,
        "<stdin>: smallest: ok (1 source, 0 views, 1 query)\n",
    )
    code, output, errors = validate(tmp_path, "-", given=INVALID.encode())
    assert (code, output) == (3, "")
    assert errors.startswith("<stdin>:7:28: spec.sources[0].rate.rows: ")


@pytest.mark.parametrize(
    ("given", "code", "begins"),
    [
        (b"", 3, "<stdin>:1:1: $: the file is empty"),
        (b"\xff", 5, "error: cannot read <stdin>: it is not UTF-8 [FileNotReadable]"),
        (b"[" * 100_000, 3, "<stdin>:1:"),
    ],
    ids=["nothing", "not UTF-8", "deep"],
)
def test_what_is_no_document_is_named(tmp_path: Path, given: bytes, code: int, begins: str) -> None:
    answer = validate(tmp_path, "-", given=given)
    assert (answer[0], answer[1]) == (code, "")
    assert answer[2].startswith(begins)


def test_a_closed_standard_input_is_named(tmp_path: Path) -> None:
    """Its descriptor is that of the next file which the process opens: to read from it could wait for ever."""
    script = f"exec {sys.executable} -m mainstem validate - <&-"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (
        5,
        "error: cannot read <stdin>: it is closed [FileNotReadable]\n",
    )


def test_each_file_is_there_with_its_pipelines_and_problems(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(f"{SMALLEST}---\n{SMALLEST}", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(INVALID, encoding="utf-8")
    code, [good, bad, none] = shown(tmp_path, "good.yaml", "bad.yaml", "none.yaml")
    assert code == 5, "the highest of all"
    counts = {"name": "smallest", "sources": 1, "views": 0, "queries": 1}
    assert (good["file"], good["valid"], good["pipelines"]) == ("good.yaml", True, [counts, counts])
    assert {problem["severity"] for problem in good["problems"]} == {"warning"}
    assert (bad["file"], bad["valid"]) == ("bad.yaml", False)
    [problem] = [each for each in bad["problems"] if each["severity"] == "error"]
    assert (problem["path"], problem["reason"]) == ("spec.sources[0].rate.rows", "UnknownField")
    assert INVALID.splitlines()[problem["line"] - 1][problem["column"] - 1 :].startswith("rows")
    assert (none["valid"], [each["reason"] for each in none["problems"]]) == (False, ["FileNotReadable"])


def test_each_problem_has_the_same_fields_and_the_file_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(INVALID, encoding="utf-8")
    (tmp_path / "x.test.yaml").write_text(
        "kind: PipelineTest\npipeline: bad.yaml\ncases: []\n", encoding="utf-8"
    )
    _, files = shown(tmp_path, "bad.yaml", "x.test.yaml", "none.yaml")
    places = [{each["file"] for each in file["problems"]} for file in files]
    assert places[0] == {"bad.yaml"}
    assert places[2] == {"none.yaml"}
    assert {each for file in files for each in file} == {"file", "valid", "pipelines", "problems"}
    assert {frozenset(each) for file in files for each in file["problems"]} == {
        frozenset({"severity", "reason", "message", "file", "path", "line", "column"})
    }
    (tmp_path / "x.test.yaml").write_text(CASES, encoding="utf-8")
    _, [tests] = shown(tmp_path, "x.test.yaml")
    assert {each["file"] for each in tests["problems"]} == {"bad.yaml"}


def test_standard_input_is_read_once_and_only_by_its_name(tmp_path: Path) -> None:
    code, output, errors = validate(tmp_path, "-", "-", given=SMALLEST.encode())
    assert (code, output) == (2, "")
    assert "standard input can be read only once" in errors
    (tmp_path / "-").write_text(SMALLEST, encoding="utf-8")
    assert validate(tmp_path, "./-")[:2] == (0, "./-: smallest: ok (1 source, 0 views, 1 query)\n")
    (tmp_path / "x.test.yaml").write_text(CASES.replace("bad.yaml", '"-"'), encoding="utf-8")
    (tmp_path / "-").unlink()
    code, _, errors = validate(tmp_path, "x.test.yaml")
    assert (code, errors.partition(":")[0]) == (5, "error")
    assert "cannot read" in errors


def test_the_text_has_the_same_problems(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(INVALID, encoding="utf-8")
    _, [bad] = shown(tmp_path, "bad.yaml")
    lines = validate(tmp_path, "bad.yaml")[2].splitlines()
    level = {"warning": "warning: ", "error": ""}
    assert lines == [
        f"bad.yaml:{p['line']}:{p['column']}: {level[p['severity']]}{p['path']}: {p['message']} [{p['reason']}]"
        for p in bad["problems"]
    ]


def test_a_test_file_is_there_with_its_pipeline_and_the_number_of_cases() -> None:
    code, [file] = shown(ROOT, "k8s/samples/flights.test.yaml")
    assert code == 0
    assert (file["testsOf"], file["problems"]) == ("flights", [])
    assert file["cases"] > 0
