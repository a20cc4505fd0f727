"""The entry of an executor pod: Spark's environment in, a Java command line out."""

import subprocess
import sys
from pathlib import Path

import pytest
from mainstem.errors import NotReady
from mainstem.runtime.executor import entry
from mainstem.runtime.spark import command_line


ENVIRONMENT = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.244.0.7:7078",
    "SPARK_EXECUTOR_ID": "2",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "640m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.244.0.9",
    "SPARK_EXECUTOR_POD_NAME": "flights-exec-2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}
JARS = [Path("/m/a.jar")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A Spark of one jar."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core.jar").touch()
    return tmp_path


def command(home: Path, **more: str) -> list[str]:
    return entry.command(ENVIRONMENT | more, "/java", home, JARS)


def test_the_command_line_starts_the_executor_backend(home: Path) -> None:
    assert command(home) == [
        "/java/bin/java",
        "-cp",
        command_line.class_path(JARS, home),
        "-Xmx640m",
        "-Dspark.master=k8s://driver",  # without it Spark does not look into the secret's file
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        "--driver-url",
        "spark://CoarseGrainedScheduler@10.244.0.7:7078",
        "--executor-id",
        "2",
        "--cores",
        "1",
        "--app-id",
        "spark-1",
        "--hostname",
        "10.244.0.9",
        "--resourceProfileId",
        "0",
        "--podName",
        "flights-exec-2",
    ]


def test_java_options_are_in_numeric_order(home: Path) -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 9, 0, 100)}
    argv = command(home, **options, SPARK_JAVA_OPT_X="-Dno", SPARK_JAVA_OPTS="-Dneither")
    assert [word for word in argv if word.startswith("-Dn")] == ["-Dn=0", "-Dn=9", "-Dn=10", "-Dn=100"]


def test_an_option_with_a_space_stays_one_word(home: Path) -> None:
    assert "-Dname=two words" in command(home, SPARK_JAVA_OPT_0="-Dname=two words")


def test_an_extra_class_path_comes_last(home: Path) -> None:
    assert command(home, SPARK_CLASSPATH="/x/*")[2] == f"{command_line.class_path(JARS, home)}:/x/*"


def test_executors_use_the_class_archive_and_never_write_it(home: Path) -> None:
    argv = command(home, MAINSTEM_CDS_ARCHIVE="/x.jsa", MAINSTEM_CDS_DUMP="/y.jsa")
    assert [word for word in argv if "Archive" in word] == ["-XX:SharedArchiveFile=/x.jsa"]


def test_all_missing_variables_are_named_together(home: Path) -> None:
    with pytest.raises(NotReady, match=r"SPARK_DRIVER_URL.*SPARK_EXECUTOR_MEMORY") as error:
        entry.command({"SPARK_EXECUTOR_ID": "1"}, "/java", home, JARS)
    assert error.value.reason == "NotAnExecutor"
    assert "SPARK_EXECUTOR_ID" not in str(error.value)


def test_the_entry_imports_no_pyspark() -> None:
    """Its import takes as long as the executor's JVM needs to start."""
    code = "import sys, mainstem.runtime.executor.entry; sys.exit('pyspark' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_failure_is_one_line_with_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == 5
    output = capsys.readouterr().err
    assert output.startswith("error: these environment variables are not set: SPARK_DRIVER_URL")
