"""The command line, as far as it needs no Spark."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from documents import VALID
from harness.sampling import sampled
from mainstem import __version__
from mainstem.cli import main
from mainstem.reasons import Exit
from mainstem.schema import crd_yaml


INVALID = VALID["smallest"].replace("rate: {}", "rate: {rows: 5}")


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(VALID["smallest"], encoding="utf-8")
    return file


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    file = tmp_path / "bad.yaml"
    file.write_text(INVALID, encoding="utf-8")
    return file


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def without_spark(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as where only `mainstem` is installed, without its extra."""
    for name in ("pyspark", "py4j"):
        (folder / "shadow" / name).mkdir(parents=True, exist_ok=True)
        (folder / "shadow" / name / "__init__.py").write_text(
            f"raise ModuleNotFoundError('it is not there', name={name!r})", encoding="utf-8"
        )
    path = os.pathsep.join([str(folder / "shadow"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "mainstem", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_valid_document_is_ok(document: Path) -> None:
    result = call("validate", document)
    assert result.exit_code == Exit.OK
    assert result.stdout == f"{document}: smallest: ok (1 source, 0 views, 1 query)\n"
    [warning] = result.stderr.splitlines()
    assert warning.endswith("[NotFaultTolerant]")


def test_an_invalid_document_is_reported_with_file_line_and_reason(refused: Path) -> None:
    result = call("validate", refused)
    assert result.exit_code == Exit.SPEC_INVALID
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert re.fullmatch(
        rf"{re.escape(str(refused))}:\d+:\d+: spec\.sources\[0\]\.rate\.rows: .+ \[UnknownField\]", line
    )


def test_the_tests_of_a_document_are_checked_too(document: Path) -> None:
    tests = document.with_name("good.test.yaml")
    head = "apiVersion: mainstem.dev/v1alpha1\nkind: PipelineTest\ncases:\n"
    given = "  - name: one\n    steps: [{given: {%s: []}, expect: {}}]\n"
    tests.write_text(head + given % "ticks", encoding="utf-8")
    assert call("validate", tests).stdout == f"{tests}: tests of smallest: ok (1 case)\n"
    tests.write_text(head + given % "tikcs", encoding="utf-8")
    result = call("validate", tests)
    assert result.exit_code == Exit.SPEC_INVALID
    assert f"{tests}:5:" in result.stderr
    assert "[UnknownRelation]" in result.stderr


def test_a_missing_file_is_reported_in_one_line(tmp_path: Path) -> None:
    result = call("validate", tmp_path / "none.yaml")
    assert result.exit_code == Exit.NOT_READY
    assert (
        result.stderr
        == f"error: cannot read {tmp_path}/none.yaml: No such file or directory [FileNotReadable]\n"
    )


def test_a_directory_and_binary_data_are_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for file in (tmp_path, tmp_path / "binary.yaml"):
        result = call("validate", file)
        assert result.exit_code == Exit.NOT_READY
        assert result.stderr.count("\n") == 1
        assert "[FileNotReadable]" in result.stderr


def test_all_files_are_checked_and_the_worst_result_decides(
    document: Path, refused: Path, tmp_path: Path
) -> None:
    result = call("validate", refused, document, tmp_path / "none.yaml")
    assert result.exit_code == Exit.NOT_READY
    assert "[UnknownField]" in result.stderr
    assert "[FileNotReadable]" in result.stderr
    assert f"{document}: smallest: ok" in result.stdout
    assert call("validate", document, refused).exit_code == Exit.SPEC_INVALID
    assert call("validate", document, document).exit_code == Exit.OK


def test_every_document_of_a_file_is_checked(document: Path) -> None:
    document.write_text(f"{VALID['smallest']}---\n{VALID['complete']}", encoding="utf-8")
    result = call("validate", document)
    assert [line.split(": ")[1] for line in result.stdout.splitlines()] == ["smallest", "counts"]
    result = call("run", document)
    assert result.exit_code == Exit.SPEC_INVALID
    assert "[NotOnePipeline]" in result.stderr


def test_parameters_are_set_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        VALID["smallest"].replace("/var/tmp/ckpt", '"${where}"')
        + "  parameters: [{name: where, value: /c}]\n",
        encoding="utf-8",
    )
    assert call("validate", file, "--set", "where=s3a://b/c=d").exit_code == Exit.OK
    result = call("validate", file, "--set", "where=s3://b/c")
    assert result.exit_code == Exit.SPEC_INVALID
    assert "[UnknownScheme]" in result.stderr
    assert call("validate", file, "--set", "nowhere=1").exit_code == Exit.SPEC_INVALID


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "where"], "'where' has no value; write NAME=VALUE"),
        (["--stop-when-idle", "soon"], "'soon' is not a duration such as '30 seconds' or '30s'"),
        (["--stop-when-idle", "5 parsecs"], "'5 parsecs' is not a duration"),
        (["--cores", "0"], "0 is not in the range x>=1"),
        (["--cores", "two"], "'two' is not a valid integer"),
        (["--heap", "64m"], "'64m' is too small for Spark; give at least 512m"),
        (["--heap", "64"], "'64' is not a size such as 512m or 2g"),
        (["--heap", "1.5g"], "'1.5g' is not a size such as 512m or 2g"),
        (["--heap=-1g"], "'-1g' is not a size such as 512m or 2g"),
        (["--log-format", "xml"], "'xml' is not one of 'console', 'json'"),
        (["--report", "/"], "is a directory"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_usage_is_reported_before_anything_runs(
    document: Path, arguments: list[str], message: str
) -> None:
    result = call("run", document, *arguments)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [["run"], ["validate"], ["nonsense"]])
def test_a_missing_argument_is_reported_with_the_usage(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.exit_code == Exit.USAGE
    assert "Usage:" in result.stderr


def test_run_rejects_what_validate_rejects(refused: Path, tmp_path: Path) -> None:
    assert call("run", refused).stderr == call("validate", refused).stderr
    assert call("run", refused).exit_code == Exit.SPEC_INVALID
    missing = tmp_path / "none.yaml"
    assert call("run", missing).stderr == call("validate", missing).stderr
    assert call("run", missing).exit_code == Exit.NOT_READY


def test_verbose_adds_the_stack_trace(refused: Path) -> None:
    assert "Traceback" not in call("run", refused).output
    assert "Traceback" in call("run", "--verbose", refused).stderr


def test_crd_is_the_generated_file() -> None:
    result = call("crd")
    assert result.exit_code == Exit.OK
    assert result.stdout == crd_yaml()
    assert yaml.safe_load(result.stdout)["kind"] == "CustomResourceDefinition"


def test_help_lists_the_exit_codes() -> None:
    words = " ".join(call("--help").stdout.split())
    codes = dict(re.findall(r"(\d) ([^;.]+)[;.]", words[words.index("Exit codes:") :]))
    assert set(codes) == {str(int(code)) for code in Exit}
    assert "-h" in call("run", "-h").stdout
    assert __version__ in call("--version").stdout


def test_every_kind_of_error_has_a_code_of_its_own() -> None:
    from mainstem import errors

    classes = [errors.SpecInvalid, errors.NotReady, errors.QueryFailed, errors.DrainInterrupted]
    assert len({kind.exit_code for kind in classes}) == len(classes)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_validate_imports_no_library_of_another_command(document: Path) -> None:
    script = (
        "import sys\nfrom mainstem.cli import main\nfrom mainstem.cli_validate import check_file\n"
        f"check_file({str(document)!r}, {{}})\n"  # here as well as in the child, whose modules are not to be had
        f"main(['validate', {str(document)!r}], standalone_mode=False)"
    )
    done = python("-c", f"import sys\ntry:\n    exec({script!r})\nfinally:\n    print(sorted(sys.modules))")
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in ast.literal_eval(done.stdout.splitlines()[-1])}
    assert not loaded & {
        "pyspark",
        "py4j",
        "delta",
        "structlog",
        "rich",
        "pandas",
        "pyarrow",
        "mainstem_jars",
    }
    assert "sqlglot" in loaded


@pytest.mark.parametrize("command", sampled([["run"], ["explain", "--plan"], ["preflight"]], every=3))
def test_without_spark_the_message_names_what_to_install(
    command: list[str], document: Path, tmp_path: Path
) -> None:
    done = without_spark(tmp_path, *command, str(document))
    assert done.returncode == Exit.NOT_READY
    assert re.fullmatch(
        r"error: the Python module py\w+ is missing; install mainstem with its extra spark, see Installing in the README \[SparkNotInstalled\]",
        done.stderr.splitlines()[-1],
    )


def test_explain_describes_a_document(document: Path) -> None:
    result = call("explain", document)
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("smallest: 1 query, time zone UTC\n")
    as_json = call("explain", document, "--output", "json")
    assert json.loads(as_json.stdout)["pipeline"] == "smallest"


def test_explain_rejects_what_validate_rejects(refused: Path) -> None:
    result = call("explain", refused)
    assert result.exit_code == Exit.SPEC_INVALID
    assert "[UnknownField]" in result.stderr


@pytest.mark.parametrize("command", ["explain", "run"])
def test_an_unknown_query_is_wrong_usage(command: str, document: Path) -> None:
    result = call(command, document, "--query", "nothing")
    assert result.exit_code == Exit.USAGE
    assert "the document has no query 'nothing'; its queries are" in result.stderr


def test_a_run_of_chosen_queries_warns_only_about_them(tmp_path: Path) -> None:
    document = yaml.safe_load(VALID["smallest"])
    document["spec"]["sources"].append({"name": "lines", "files": {"path": str(tmp_path)}})
    [query] = document["spec"]["queries"]
    document["spec"]["queries"].append(query | {"name": "copy", "from": "lines"})
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert "[NotFaultTolerant]" in without_spark(tmp_path, "run", str(file)).stderr
    assert "[NotFaultTolerant]" not in without_spark(tmp_path, "run", str(file), "--query", "copy").stderr
