"""What ends a command from outside: an early interrupt, a full output device, a closed pipe."""

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from documents import VALID
from harness.sampling import sampled
from harness.waiting import LIMIT
from mainstem import entry
from mainstem.reasons import Exit


STARTED = """
import signal, sys
from mainstem import entry, interrupts
interrupts.end_at_once()

class Gate:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.stderr.write(".")
            sys.stderr.flush()
            signal.pause()

sys.meta_path.insert(0, Gate())
sys.argv = {argv!r}
entry.main()
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "good.yaml"
    file.write_text(VALID["smallest"], encoding="utf-8")
    return file


def commands(document: Path) -> list[list[str]]:
    return [
        ["--help"],
        ["--version"],
        ["crd"],
        ["explain", str(document)],
        ["explain", str(document), "--output", "json"],
        ["validate", str(document)],
        ["validate", "--help"],
    ]


def test_the_console_script_calls_the_entry_module() -> None:
    text = (Path(entry.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["scripts"]["mainstem"] == "mainstem.entry:main"


@pytest.mark.parametrize("index", range(7))
def test_a_full_output_device_is_reported_in_one_line(document: Path, index: int) -> None:
    command = commands(document)[index]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mainstem", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    lines = [line for line in done.stderr.splitlines() if ": warning: " not in line]
    assert lines == ["error: the output cannot be written: No space left on device [OutputNotWritable]"]
    assert done.returncode == Exit.NOT_READY


def test_a_closed_pipe_is_no_error(document: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m mainstem crd | head -1; echo $?",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr


def interrupted_at(module: str, command: list[str]) -> tuple[int, str]:
    """Exit code and standard error of a command that is interrupted while it imports a module."""
    child = subprocess.Popen(
        [sys.executable, "-c", STARTED.format(module=module, argv=["mainstem", *command])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr
    assert child.stderr.read(1) == "."
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
    _, output = child.communicate(timeout=LIMIT)
    return child.returncode, output


@pytest.mark.parametrize("name", sampled(["run", "validate", "test", "explain"], every=2))
def test_an_early_interrupt_is_reported_in_one_line(document: Path, name: str) -> None:
    for module in ("mainstem.cli", "click", "mainstem.language.document", "sqlglot"):
        assert interrupted_at(module, [name, str(document)]) == (130, "error: interrupted\n")
