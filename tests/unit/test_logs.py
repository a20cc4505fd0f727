import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from mainstem import logs


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password=hunter2", "hunter2"),
        ("sasl.jaas.config=... password='hunter 2';", "hunter 2"),
        ('"secretKey": "hunter2"', "hunter2"),
        ("aws_secret_access_key = hunter2", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY=hunter2,", "hunter2"),
        ("fs.s3a.secret.key=hunter2", "hunter2"),
        ("fs.s3a.access.key=hunter2 fs.s3a.path=x", "hunter2"),
        ("fs.s3a.session.token=hunter2", "hunter2"),
        ("Token = hunter2", "hunter2"),
        ("passwd=hunter2", "hunter2"),
        ("apiKey=hunter2, x-api-key: hunter2", "hunter2"),
        ("credential=hunter2 authorization=hunter2", "hunter2"),
    ],
)
def test_credentials_are_redacted(text: str, hidden: str) -> None:
    blotted = logs.redact(text)
    assert hidden not in blotted
    assert "*****" in blotted


@pytest.mark.parametrize(
    "text",
    [
        "query copy failed: the topic does not exist",
        "the file secrets/s3-user/secretKey of the secret 's3-user' cannot be read",
        "set MAINSTEM_SECRETS to the folder that holds s3-user/accessKey",
        "12 tokens were found",
        "the secret's accessKey: no such file",
        "",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert logs.redact(text) == text


def test_redacting_twice_changes_nothing() -> None:
    once = logs.redact("password=hunter2 token: abc")
    assert logs.redact(once) == once


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()  # the stream of this test is closed by now


def test_json_lines_carry_component_level_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", verbose=False)
    logs.get("spark").warning("slow: secret=hunter2", path="s3a://b?token=abc", batch=7)
    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "slow: secret=*****",
        "path": "s3a://b?token=*****",
        "batch": 7,
        "component": "spark",
        "level": "warning",
    }


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "TimeoutError"),
        (ValueError(" \n"), "ValueError"),
        (OSError(5, "token=abc"), "[Errno 5] token=*****"),
    ],
)
def test_an_error_always_has_a_text(capsys: pytest.CaptureFixture[str], error: Exception, text: str) -> None:
    logs.configure("json", verbose=False)
    logs.get("status").warning("no answer", error=error)
    assert json.loads(capsys.readouterr().err)["error"] == text


def test_no_line_turns_an_error_into_its_text_itself() -> None:
    """Many errors have no text; the logs write their type then."""
    sources = [path for folder in ("app/src", "operator/src") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in sources if "error=str(error)" in path.read_text(encoding="utf-8")] == []


def test_debug_lines_are_shown_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json", verbose=False)
    logs.get("mainstem").debug("quiet")
    assert capsys.readouterr().err == ""
    logs.configure("json", verbose=True)
    logs.get("mainstem").debug("loud")
    assert json.loads(capsys.readouterr().err)["event"] == "loud"


def test_a_console_gets_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("console", verbose=False)
    logs.get("mainstem").info("query started", query="copy")
    [line] = capsys.readouterr().err.splitlines()
    assert "query started" in line
    assert "query=copy" in line
    assert "\x1b" not in line


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_closed_pipe_is_ignored(log_format: logs.LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8", buffering=1) as gone:
        monkeypatch.setattr("sys.stderr", gone)
        logs.configure(log_format, verbose=False)
        logs.get("mainstem").info("draining")
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)


def test_logs_go_to_the_current_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live table takes the place of standard error while it is drawn."""
    logs.configure("json", verbose=False)
    logger = logs.get("mainstem")
    logger.info("before")
    table = io.StringIO()
    monkeypatch.setattr("sys.stderr", table)
    logger.info("within")
    assert json.loads(table.getvalue())["event"] == "within"
