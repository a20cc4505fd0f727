"""The command line of Spark's JVM: one class path in one order, and nothing of Spark's own launcher left out."""

import os
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mainstem.runtime.spark import command_line, jvm
from py4j.java_gateway import JVMView


CONF = {
    "spark.driver.memory": "3g",
    "spark.driver.extraClassPath": "/m/b.jar:/m/a.jar",
    "spark.driver.extraJavaOptions": "-Da=b '-Dname=two words'",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A Spark whose folder lists its jars in no order."""
    (tmp_path / "jars").mkdir()
    for name in ("spark-core.jar", "avro.jar", "slf4j-api-2.0.17.jar", "zstd.jar", "notes.txt"):
        (tmp_path / "jars" / name).touch()
    return tmp_path


def driver(home: Path, **environment: str) -> list[str]:
    return command_line.driver("/java", home, CONF, ["--conf", "a=b", "pyspark-shell"], environment)


def test_the_class_path_has_a_fixed_order(home: Path) -> None:
    names = [f"{home}/jars/{name}.jar" for name in ("slf4j-api-2.0.17", "avro", "spark-core", "zstd")]
    assert command_line.class_path(["/m/b.jar", "/m/a.jar"], home).split(":") == [
        "/m/b.jar",
        "/m/a.jar",
        *names,
    ]


def test_the_driver_starts_as_spark_submit_would_start_it(home: Path) -> None:
    argv = driver(home)
    assert argv[:4] == [
        "/java/bin/java",
        "-cp",
        command_line.class_path(["/m/b.jar", "/m/a.jar"], home),
        "-Xmx3g",
    ]
    assert argv[4:6] == ["-Da=b", "-Dname=two words"]
    assert argv[6:-4] == list(command_line.MODULE_OPTIONS)
    assert argv[-4:] == ["org.apache.spark.deploy.SparkSubmit", "--conf", "a=b", "pyspark-shell"]


def test_without_jars_of_mainstem_the_class_path_is_that_of_spark(home: Path) -> None:
    argv = command_line.driver("/java", home, CONF | {"spark.driver.extraClassPath": ""}, [], {})
    assert argv[2] == command_line.class_path([], home)


def test_a_named_class_archive_is_used(home: Path) -> None:
    used = driver(home, MAINSTEM_CDS_ARCHIVE="/x.jsa")
    assert "-XX:SharedArchiveFile=/x.jsa" in used
    assert "-Xlog:all=off:stdout" in used, "standard output belongs to the rows of console sinks"
    assert not [option for option in driver(home) if "Archive" in option]


def test_creating_a_class_archive_uses_none(home: Path) -> None:
    made = driver(home, MAINSTEM_CDS_ARCHIVE="/x.jsa", MAINSTEM_CDS_DUMP="/y.jsa")
    assert [option for option in made if "Archive" in option] == ["-XX:ArchiveClassesAtExit=/y.jsa"]


def test_the_class_archive_changes_no_other_option(home: Path) -> None:
    plain, used = driver(home), driver(home, MAINSTEM_CDS_ARCHIVE="/x.jsa")
    assert [
        option for option in used if option not in command_line.sharing({command_line.ARCHIVE: "/x.jsa"})
    ] == plain


def test_the_module_options_are_those_of_sparks_launcher() -> None:
    [launcher] = (command_line.spark_home() / "jars").glob("spark-launcher_*.jar")
    with zipfile.ZipFile(launcher) as jar:
        code = jar.read("org/apache/spark/launcher/JavaModuleOptions.class")
    constants = re.findall(rb"-(?:XX:|-add-|-sun-|-enable-|Dio\.)[ -~]+", code)
    assert sorted(constant.decode() for constant in constants) == sorted(command_line.MODULE_OPTIONS)


def test_the_conf_directory_of_spark_is_empty_and_holds_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark reads all that lies there whenever it asks Kubernetes for executors, and warns of each native library."""
    started: list[dict[str, str]] = []

    def gateway(settings: Any, pipes: Any) -> SimpleNamespace:
        started.append(dict(settings.getAll()))
        return SimpleNamespace(jvm=JVMView(None, "jvm", id="j"))

    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(jvm, "launch_gateway", gateway)
    jvm.launch(CONF, print, tmp_path, address=None, verbose=False)
    [conf] = started
    assert f"-Djava.io.tmpdir={tmp_path}" in conf["spark.driver.extraJavaOptions"]
    settings = Path(os.environ["SPARK_CONF_DIR"])
    assert settings != tmp_path
    assert settings.parent == tmp_path
    assert not list(settings.iterdir())
