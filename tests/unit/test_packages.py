"""Jars of the user: names in a document, where they are resolved, and their place on the class path."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from harness.documents import pipeline_head
from mainstem import names
from mainstem.cli import main
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.document import read_object
from mainstem.language.model.packages import Packages
from mainstem.runtime.executor import entry
from mainstem.runtime.spark import command_line, ivy, packages


ROOT = Path(__file__).resolve().parents[2]
DRIVER = "org.mariadb.jdbc:mariadb-java-client:3.5.6"


def problems(**given: Any) -> list[str]:
    spec = {
        "packages": given,
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "/c"},
    }
    document = pipeline_head("p")
    try:
        read_object(document | {"spec": spec})
    except SpecInvalid as refused:
        return [each.named() for each in refused.problems if not each.warning]
    return []


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of packages of an image."""
    folder = tmp_path / "image"
    folder.mkdir()
    monkeypatch.setenv(names.ENV_PACKAGES, str(folder))
    return folder


def test_a_document_names_artifacts_jars_and_repositories() -> None:
    given = {"maven": [DRIVER], "jars": ["jars/mine.jar"], "repositories": ["https://repo.example.com/maven"]}
    assert problems(**given) == []
    assert Packages(**given).files == ("mariadb-java-client-3.5.6.jar", "mine.jar")


@pytest.mark.parametrize("version", ["LATEST", "RELEASE", "latest.release", "1.0-SNAPSHOT"])
def test_a_version_must_be_one_release(version: str) -> None:
    [problem] = problems(maven=[f"g:a:{version}"])
    assert problem.startswith(f"spec.packages.maven[0]: the version {version} of a changes with time")
    assert problem.endswith("[VersionNotPinned]")


@pytest.mark.parametrize("coordinate", ["g:a", "g:a:[1,2)", "g:a:1.+", "g:a:1:jar", "g:a: 1", "../g:a:1"])
def test_an_invalid_coordinate_is_rejected(coordinate: str) -> None:
    assert "spec.packages.maven[0]" in problems(maven=[coordinate])[0]


@pytest.mark.parametrize("jar", ["s3a://jars/x.jar", "jars/", "x.py"])
def test_jars_must_be_local_files(jar: str) -> None:
    assert problems(jars=[jar])[0].endswith("put artifacts of a repository under maven [InvalidValue]")


def test_two_jars_with_one_file_name_are_rejected() -> None:
    same = "have the same file name, and an image keeps all jars in one folder; remove one of them [DuplicateName]"
    assert problems(jars=["a/x.jar", "b/x.jar"])[0].endswith(same)
    assert problems(jars=["x-1.jar"], maven=["g:x:1"])[0].endswith(same)
    assert problems(maven=["g:x:1", "h:x:1"])[0].endswith(same)


def test_packages_come_after_the_jars_of_spark(tmp_path: Path, image: Path) -> None:
    """So the class path begins as it did when the archive of classes was made, in the driver and in executors."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").touch()
    (image / "b.jar").touch()
    (image / "a.jar").touch()
    own_jars = command_line.image_jars(os.environ)
    expected = f"/m/own.jar:{tmp_path}/jars/spark.jar:{image}/a.jar:{image}/b.jar"
    conf = {"spark.driver.extraClassPath": "/m/own.jar", "spark.driver.memory": "1g", "spark.driver.extraJavaOptions": ""}  # fmt: skip
    assert command_line.driver("/java", tmp_path, conf, [], {}, own_jars)[2] == expected
    from_spark = dict.fromkeys(entry._ARGUMENTS.values(), "1") | {"SPARK_EXECUTOR_MEMORY": "1g"}
    assert entry.command(from_spark, "/java", tmp_path, [Path("/m/own.jar")], own_jars)[2] == expected


def test_the_image_has_a_directory_for_packages_that_its_user_can_write() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    [folder] = re.findall(rf"{names.ENV_PACKAGES}=(\S+)", dockerfile)
    [made] = re.findall(rf"install -d -o {names.UID} -g {names.UID} ([^\\\n]+)", dockerfile)
    assert folder in made.split()


def test_packages_in_the_image_are_not_resolved_again(image: Path) -> None:
    for name in ("mariadb-java-client-3.5.6.jar", "mine.jar", "other.jar"):
        (image / name).touch()
    wanted = Packages(maven=(DRIVER,), jars=("/nowhere/mine.jar",))
    jars = packages.class_path(wanted, None)
    assert [jar.name for jar in jars] == ["mariadb-java-client-3.5.6.jar", "mine.jar", "other.jar"]
    assert packages.class_path(wanted, Path("/nowhere")) == jars


def test_a_missing_package_is_reported_with_the_lines_that_build_an_image(image: Path) -> None:
    wanted = Packages(maven=(DRIVER,), jars=("jars/mine.jar",))
    with pytest.raises(NotReady) as error:
        packages.class_path(wanted, None)
    assert error.value.reason == "PackagesMissing"
    assert error.value.message == "the image has no mariadb-java-client-3.5.6.jar, mine.jar"
    assert f"RUN mainstem packages install {DRIVER} | COPY mine.jar {image}/" in error.value.remedy


def test_jars_are_resolved_beside_the_document(tmp_path: Path) -> None:
    (tmp_path / "mine.jar").touch()
    assert packages.class_path(Packages(jars=("./mine.jar",)), tmp_path) == [tmp_path / "mine.jar"]
    with pytest.raises(NotReady, match=f"the file {tmp_path}/other.jar does not exist") as error:
        packages.class_path(Packages(jars=("other.jar",)), tmp_path)
    assert error.value.reason == "JarNotFound"


def test_jars_of_spark_are_omitted_from_the_resolved_jars(tmp_path: Path) -> None:
    spark = next((command_line.spark_home() / "jars").glob("scala-library-*.jar")).name
    jars = [tmp_path / name for name in ("scala-library-2.13.1.jar", "mine-1.jar", "postgresql-1.jar")]
    assert spark != jars[0].name
    assert packages._useful(jars, []) == [tmp_path / "mine-1.jar"]
    assert packages._useful(jars, ["org.postgresql:postgresql:1"]) == [jars[1], jars[2]]


def test_jars_are_copied_into_an_image(image: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jar").write_bytes(b"jar")
    done = CliRunner().invoke(main, ["packages", "install", str(tmp_path / "mine.jar")])
    assert (done.exit_code, done.output) == (0, "mine.jar\n")
    assert [file.name for file in image.iterdir()] == ["mine.jar"]


def test_the_packages_of_a_document_are_copied_into_an_image(image: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jar").write_bytes(b"jar")
    document = tmp_path / "p.yaml"
    document.write_text(
        "{apiVersion: mainstem.dev/v1alpha1, kind: StreamingPipeline, metadata: {name: p}, spec: {packages: {jars: [mine.jar]}, "
        "sources: [{name: t, rate: {}}], queries: [{name: q, from: t, to: [{name: o, console: {}}]}], checkpoints: {location: /c}}}"
    )
    done = CliRunner().invoke(main, ["packages", "install", str(document)])
    assert (done.exit_code, done.output) == (0, "mine.jar\n")
    assert (image / "mine.jar").read_bytes() == b"jar"


def test_without_a_directory_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(names.ENV_PACKAGES, raising=False)
    done = CliRunner().invoke(main, ["packages", "install", DRIVER])
    assert done.exit_code == 2
    assert "the folder for the jars is missing; use --into, or set MAINSTEM_PACKAGES" in done.output


def test_a_failure_of_ivy_is_reported_in_one_line() -> None:
    message = """
:: problems summary ::
:::: WARNINGS
        module not found: com.example#none;1.0
    ==== central: tried
        ::::::::::::::::::::::::::::::::::::::::::::::
        ::          UNRESOLVED DEPENDENCIES         ::
        :: com.example#none;1.0: not found
:::: ERRORS
        Server access error at url https://repo.example.com/none.pom (java.net.UnknownHostException: repo.example.com)
"""
    assert ivy.cause_of(message) == (
        "com.example#none;1.0: not found; https://repo.example.com/none.pom (java.net.UnknownHostException: repo.example.com)"
    )
    assert ivy.cause_of("") == "Ivy wrote no output"
