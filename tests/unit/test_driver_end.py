"""`mainstem driver` up to Spark, and its termination message for the operator."""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from documents import VALID
from harness.waiting import LIMIT
from hypothesis import given
from hypothesis import strategies as st
from mainstem import names, reasons
from mainstem.cli import main
from mainstem.errors import NotReady
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime import dry_start
from mainstem.runtime.driver.termination import MAX_BYTES, text, write
from mainstem.runtime.executor.decommission import main as decommission


QUERY = QueryProgress("copy", batch=7)


def test_the_termination_message_names_each_query_and_its_batch() -> None:
    assert json.loads(text("drained", "Drained", "drained", [QUERY, QueryProgress("new")])) == {
        "outcome": "drained",
        "reason": "Drained",
        "message": "drained",
        "queries": [{"name": "copy", "batch": 7}, {"name": "new"}],
    }


@given(st.text(max_size=5000), st.integers(0, 64))
def test_the_termination_message_is_never_too_long(message: str, queries: int) -> None:
    statuses = [replace(QUERY, name=f"{'q' * 60}{n:03}") for n in range(queries)]
    output = text("failed", "R" * 300, message, statuses)
    assert len(output.encode()) <= MAX_BYTES
    message_body = json.loads(output)
    assert len(message_body["message"].encode()) <= 1024
    assert [q["name"] for q in message_body["queries"]] == [s.name for s in statuses][
        : len(message_body["queries"])
    ]


def test_the_termination_message_holds_no_credential() -> None:
    assert "hunter2" not in text("failed", "R", "the broker answers password=hunter2", [])


def test_a_termination_log_that_cannot_be_written_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.ENV_TERMINATION_LOG, str(tmp_path / "nowhere" / "log"))
    write("text")


def run(tmp_path: Path, document: Path, *options: str, **environment: str) -> tuple[int, Any, str]:
    log = tmp_path / "termination-log"
    result = CliRunner(catch_exceptions=False).invoke(
        main,
        ["driver", str(document), *options],
        env={names.ENV_TERMINATION_LOG: str(log), **environment},
    )
    return result.exit_code, json.loads(log.read_text(encoding="utf-8")), result.output


POD = {
    names.ENV_NAMESPACE: "team",
    names.ENV_POD: "p-driver",
    names.ENV_POD_UID: "u",
    names.ENV_POD_IP: "127.0.0.1",
    names.ENV_ATTEMPT: "1",
    names.ENV_IMAGE: "i",
}


def test_a_driver_outside_a_pod_is_rejected_with_advice(tmp_path: Path) -> None:
    code, message, output = run(tmp_path, tmp_path / "p.yaml", **dict.fromkeys(POD, ""))
    assert (code, message["outcome"], message["reason"]) == (5, "failed", "NotADriverPod")
    assert "`mainstem run`" in message["message"]
    assert json.loads(output)["reason"] == "NotADriverPod"


@pytest.mark.parametrize("is_preflight", [False, True])
def test_an_invalid_document_is_reported_by_its_first_problem(tmp_path: Path, *, is_preflight: bool) -> None:
    document, running = tmp_path / "p.yaml", tmp_path / "running.yaml"
    document.write_text("kind: StreamingPipeline\n", encoding="utf-8")
    running.write_text(VALID["smallest"], encoding="utf-8")
    options = ("--preflight-against", str(running)) if is_preflight else ()
    code, message, output = run(tmp_path, document, *options, **POD)
    assert (code, message["outcome"], message["reason"]) == (3, "failed", "SpecInvalid")
    assert message.get("retried") is (False if is_preflight else None)
    assert message["message"].startswith("apiVersion: "), "by its field: nobody has the file of the pod"
    assert str(document) not in message["message"] + output
    assert "more)" in message["message"]
    assert all(json.loads(line)["level"] == "error" for line in output.splitlines())


@pytest.mark.parametrize(
    ("error", "code", "retried"),
    [
        (NotReady("no such path", reason=reasons.PATH_NOT_FOUND), 5, True),
        (NotReady("no answer", reason=reasons.BROKER_UNREACHABLE), 5, True),
        (NotReady("it does not fit", reason=reasons.CHECKPOINT_INCOMPATIBLE), 5, False),
        (NotReady("another layout", reason=reasons.STATE_LAYOUT_CHANGED), 5, False),
        (RuntimeError("not expected"), 1, True),
    ],
    ids=str,
)
def test_a_preflight_reports_whether_a_later_one_may_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, *, retried: bool
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(dry_start, "run", fail)
    document = tmp_path / "p.yaml"
    document.write_text(VALID["smallest"], encoding="utf-8")
    ended, message, output = run(tmp_path, document, "--preflight-against", str(document), **POD)
    assert (ended, message["outcome"], message["retried"]) == (code, "failed", retried)
    assert message["message"] == (str(error) if code == 5 else "RuntimeError: not expected")
    assert json.loads(output.splitlines()[-1])["level"] == "error"


def test_commands_of_containers_are_hidden_and_describe_themselves() -> None:
    runner = CliRunner()
    assert "\n  driver " not in runner.invoke(main, ["--help"]).output
    assert "mainstem run" in runner.invoke(main, ["driver", "--help"]).output
    assert "Spark starts this command" in runner.invoke(main, ["executor", "--help"]).output


HANDS_OVER = """
import signal, sys
signal.signal(signal.SIGPWR, lambda *_: (print("signalled", flush=True), sys.stdin.readline(), sys.exit(42)))
print("ready", flush=True)
while True:
    signal.pause()
"""


def test_decommissioning_signals_the_executor_and_waits_for_it(tmp_path: Path) -> None:
    marker = f"Backend-{uuid4()}"
    waiting = threading.Thread(target=decommission, args=(marker,), daemon=True)
    with subprocess.Popen(
        [sys.executable, "-c", HANDS_OVER, marker],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            waiting.start()
            assert process.stdout.readline() == "signalled\n"
            assert waiting.is_alive()
            process.stdin.write("handed over\n")
            process.stdin.close()
            # It ends as a zombie of ours, whose command line is empty.
            waiting.join(LIMIT)
            assert not waiting.is_alive()
            assert process.wait(LIMIT) == 42
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
