"""The config for kind is one that kind takes. kind itself is not run here: its own loader reads the file, no more."""

import subprocess
from pathlib import Path

import pytest
from harness import gotools


CONFIG = Path(__file__).parents[2] / "k8s" / "kind" / "cluster.yaml"


def loaded(config: Path) -> subprocess.CompletedProcess[str]:
    executable = gotools.KINDCONFIG.build().path / "kindconfig"
    return subprocess.run([executable, config], capture_output=True, text=True, check=False)


def test_the_loader_of_kind_accepts_the_config() -> None:
    done = loaded(CONFIG)
    assert (done.returncode, done.stdout) == (0, "mainstem: nodes: 1\n"), done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("nodes:", "nods:", 'unknown field "nods"|field nods not found'),
        ("role: control-plane", "role: master", "master"),
        ("name: mainstem", "name: Main_Stem", "Main_Stem"),
    ],
)
def test_the_loader_of_kind_rejects_a_wrong_config(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    text = CONFIG.read_text()
    assert text.count(right) == 1
    broken = tmp_path / "cluster.yaml"
    broken.write_text(text.replace(right, wrong))
    done = loaded(broken)
    assert done.returncode == 1
    assert any(part in done.stderr for part in message.split("|")), done.stderr
