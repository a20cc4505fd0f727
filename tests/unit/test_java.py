from pathlib import Path

import pytest
from mainstem.errors import NotReady
from mainstem.reasons import Exit
from mainstem.runtime.spark import java


def jdk(home: Path, version: str | None, output: str = "") -> Path:
    """A Java as it looks from outside: a launcher, and a `release` file unless it is without one."""
    (home / "bin").mkdir(parents=True)
    launcher = home / "bin" / "java"
    launcher.write_text(f"#!/bin/sh\necho '{output}' >&2\n", encoding="utf-8")
    launcher.chmod(0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return home


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Java: /usr/lib/jvm is a folder of the test's."""
    (tmp_path / "jvm").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(
        java, "Path", lambda *parts: tmp_path / "jvm" if parts == ("/usr/lib/jvm",) else Path(*parts)
    )
    return tmp_path


def test_missing_java_is_reported_with_what_to_install(machine: Path) -> None:
    with pytest.raises(
        NotReady, match=r"no Java 17 or 21 was found; install openjdk-17.*\[JavaNotFound\]"
    ) as none:
        java.home()
    assert none.value.exit_code == Exit.NOT_READY


@pytest.mark.parametrize("home", ["/nowhere", "", "relative"])
def test_an_invalid_java_home_is_ignored(machine: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("JAVA_HOME", home)
    valid_home = jdk(machine / "jvm" / "java-17-openjdk-amd64", "17.0.9")
    assert java.home() == str(valid_home)


def test_java_home_comes_first(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(machine / "jvm" / "java-17-openjdk-amd64", "17.0.9")
    own = jdk(machine / "own", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(own))
    assert java.home() == str(own)


@pytest.mark.parametrize("version", ["11.0.2", "25", "1.8.0_392", "170.1", "210"])
def test_an_unsupported_version_is_ignored(
    machine: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk(machine / "own", version)))
    with pytest.raises(NotReady):
        java.home()


def test_a_newer_supported_version_is_used(machine: Path) -> None:
    newer = jdk(machine / "jvm" / "java-21-openjdk-amd64", "21.0.8")
    assert java.home() == str(newer)
    older = jdk(machine / "jvm" / "java-17-openjdk-amd64", "17.0.9")
    assert java.home() == str(older)


def test_java_on_the_path_is_identified_by_its_version_output(machine: Path) -> None:
    home = jdk(machine / "elsewhere", None, output='openjdk version "17.0.9" 2023-10-17')
    (machine / "bin").mkdir()
    (machine / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.home() == str(home)
