"""Packages by their coordinates: resolved by the Ivy of Spark's distribution from a repository of this machine, and kept."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from harness.process import free_port
from mainstem.cli import main
from mainstem.errors import NotReady
from mainstem.language.model.packages import Packages
from mainstem.runtime.spark import command_line, java, packages


POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>{name}</artifactId><version>1.0</version><dependencies>{needs}</dependencies></project>"""
NEED = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>1.0</version></dependency>"


def publish(repository: Path, group: str, name: str, needs: str = "") -> None:
    """Put an artifact with a jar of one file into a repository of Maven's layout."""
    folder = repository / group.replace(".", "/") / name / "1.0"
    folder.mkdir(parents=True)
    pom = POM.replace("com.example", group).format(name=name, needs=needs)
    (folder / f"{name}-1.0.pom").write_text(pom)
    with zipfile.ZipFile(folder / f"{name}-1.0.jar", "w") as jar:
        jar.writestr("name", name)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a connector, its library, and one of Spark's libraries in an old version."""
    root = tmp_path / "repository"
    needs = NEED.format("com.example", "library") + NEED.format("org.scala-lang", "scala-library")
    publish(root, "com.example", "connector", needs)
    publish(root, "com.example", "library")
    publish(root, "org.scala-lang", "scala-library")
    settings(tmp_path, root.as_uri(), monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return root


def settings(folder: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "ivysettings.xml"
    file.write_text(
        "<ivysettings><settings defaultResolver='own'/><resolvers>"
        f"<ibiblio name='own' m2compatible='true' root='{root}'/></resolvers></ivysettings>"
    )
    monkeypatch.setenv(packages.IVY_SETTINGS, str(file))


def test_an_artifact_comes_with_its_dependencies_that_spark_lacks(repository: Path, tmp_path: Path) -> None:
    wanted = Packages(maven=("com.example:connector:1.0",))
    jars = packages.class_path(wanted, tmp_path)
    assert [jar.name for jar in jars] == ["connector-1.0.jar", "library-1.0.jar"]
    shutil.rmtree(repository)
    assert packages.class_path(wanted, tmp_path) == jars, "what was resolved once is kept"


@pytest.mark.full(gate="unit/test_packages.py::test_the_packages_of_a_document_are_copied_into_an_image")
def test_an_image_gets_the_same_jars(repository: Path, tmp_path: Path) -> None:
    into = tmp_path / "image"
    done = CliRunner().invoke(main, ["packages", "install", "com.example:connector:1.0", "--into", str(into)])
    assert (done.exit_code, done.output) == (0, "connector-1.0.jar\nlibrary-1.0.jar\n")
    assert sorted(file.name for file in into.iterdir()) == ["connector-1.0.jar", "library-1.0.jar"]
    assert not (tmp_path / "cache").exists(), "a layer of an image holds the jars and nothing else"


def test_a_missing_artifact_is_named(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"com\.example#connector;2\.0: not found") as error:
        packages.class_path(Packages(maven=("com.example:connector:2.0",)), tmp_path)
    assert error.value.reason == "PackagesNotResolved"
    assert not list((tmp_path / "cache").rglob("*.jar"))


@pytest.mark.full(gate="unit/test_packages.py::test_a_failure_of_ivy_is_reported_in_one_line")
def test_an_unreachable_repository_is_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{free_port()}/maven"
    settings(tmp_path, address, monkeypatch)
    with pytest.raises(NotReady, match=r"com\.example#connector;1\.0: not found.*onnection refused") as error:
        packages.class_path(Packages(maven=("com.example:connector:1.0",)), tmp_path)
    assert error.value.reason == "PackagesNotResolved"


@pytest.mark.full(gate="unit/test_packages.py::test_packages_come_after_the_jars_of_spark")
def test_a_class_archive_fits_a_longer_class_path(tmp_path: Path) -> None:
    """What packages behind Spark's jars rely on: the classes of the archive are used, which another order would refuse."""
    [own] = (command_line.spark_home() / "jars").glob("ivy-*.jar")
    more = tmp_path / "more.jar"
    with zipfile.ZipFile(more, "w") as jar:
        jar.writestr("more", "")
    archive = tmp_path / "x.jsa"
    run(f"-XX:ArchiveClassesAtExit={archive}", "-cp", str(own))
    used = (f"-XX:SharedArchiveFile={archive}", "-Xlog:class+load", "-cp")
    assert "org.apache.ivy.Main source: shared objects file" in run(*used, f"{own}:{more}")
    assert "org.apache.ivy.Main source: file:" in run(*used, f"{more}:{own}")


def run(*options: str) -> str:
    """What Java writes that runs Ivy's command, which shows its version."""
    argv = [f"{java.home()}/bin/java", *options, "org.apache.ivy.Main", "-version"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
