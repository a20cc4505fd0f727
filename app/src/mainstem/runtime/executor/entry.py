"""`mainstem executor`: starts Spark's executor in its pod, from the environment variables that Spark sets.

The pip distribution of Spark has no entrypoint for containers. This module imports nothing slow, because executors start
often.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from mainstem import reasons
from mainstem.errors import MainstemError, NotReady
from mainstem.runtime.spark import command_line, java


_BACKEND: Final = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION: Final = "SPARK_JAVA_OPT_"
_ARGUMENTS: Final = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def main() -> NoReturn:
    """Replace this process by Spark's executor.

    If something is missing, it writes one line to standard error, and exits with the code of the error.
    """
    try:
        environment = os.environ
        home = command_line.spark_home()
        argv = command(environment, java.home(), home, _jars(), command_line.image_jars(environment))
    except MainstemError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(error.exit_code) from None
    os.execve(argv[0], argv, {**environment, "SPARK_HOME": str(home)})  # noqa: S606 - no shell is involved


def command(
    environment: Mapping[str, str],
    java_home: str,
    home: Path,
    jars: list[Path],
    image: Sequence[Path] = (),
) -> list[str]:
    """The executor's command line, from the environment variables that Spark sets.

    Args:
        environment: the `SPARK_*` variables that Spark's Kubernetes backend sets, and the path of the class archive.
        java_home: the home of the Java to run.
        home: the home of Spark.
        jars: Mainstem's own jars, in the driver's order.
        image: the jars of the image's folder of packages.

    Raises:
        NotReady: `NotAnExecutor`, naming every variable that is missing.
    """
    required = [*_ARGUMENTS.values(), "SPARK_EXECUTOR_MEMORY"]
    if missing := [name for name in required if not environment.get(name)]:
        raise NotReady(
            f"these environment variables are not set: {', '.join(missing)}",
            reason=reasons.NOT_AN_EXECUTOR,
            remedy="do not start `mainstem executor` yourself: Spark starts it in the pods that a driver creates",
        )
    class_path = command_line.class_path(jars, home, image)
    if extra := environment.get("SPARK_CLASSPATH"):  # spark.executor.extraClassPath
        class_path = f"{class_path}:{extra}"  # last, so that the class archive still fits
    return [
        f"{java_home}/bin/java",
        "-cp",
        class_path,
        f"-Xmx{environment['SPARK_EXECUTOR_MEMORY']}",
        *command_line.sharing({key: value for key, value in environment.items() if key != command_line.DUMP}),
        # Spark reads its secret from a file only if the master is Kubernetes. An executor learns the master from the driver
        # only after it has authenticated with the secret.
        "-Dspark.master=k8s://driver",
        *_options(environment),
        _BACKEND,
        *(word for flag, name in _ARGUMENTS.items() for word in (flag, environment[name])),
    ]


def _options(environment: Mapping[str, str]) -> list[str]:
    """The Java options, sorted by the numbers of their variables: `SPARK_JAVA_OPT_10` comes after `SPARK_JAVA_OPT_9`."""
    options = {
        int(number): value
        for name, value in environment.items()
        if name.startswith(_OPTION) and (number := name.removeprefix(_OPTION)).isdecimal()
    }
    return [options[number] for number in sorted(options)]


def _jars() -> list[Path]:
    try:
        import mainstem_jars

        return mainstem_jars.paths()
    except (ImportError, FileNotFoundError) as error:
        raise NotReady(f"the JVM dependencies are missing: {error}", reason=reasons.JARS_NOT_FOUND) from None
