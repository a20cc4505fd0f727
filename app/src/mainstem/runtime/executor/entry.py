"""The entry of an executor pod: starts Spark's executor from the environment variables that Spark sets.

The pip distribution of Spark has no entrypoint for containers. Nothing slow is imported here: executors start often.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from mainstem import names
from mainstem.errors import MainstemError, NotReady
from mainstem.runtime.spark import command_line, java


DOCUMENT: Final = Path(names.DOCUMENT_DIR) / names.DOCUMENT_KEY
CREDENTIALS: Final = Path(names.S3_PROFILES).parent
"""The folder of the files of credentials, at the same place in driver and executors, for properties name it to all."""

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
    """Write the credentials that the document names, then become Spark's executor.

    What is missing is one line on standard error, and the exit code of its class.
    """
    try:
        environment = os.environ
        home = command_line.spark_home()
        argv = command(environment, java.home(), home, _jars(), command_line.image_jars(environment))
        write_credentials()
    except MainstemError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(error.exit_code) from None
    os.execve(argv[0], argv, {**environment, "SPARK_HOME": str(home)})  # noqa: S606 - nothing here for a shell to read


def command(
    environment: Mapping[str, str],
    java_home: str,
    home: Path,
    jars: list[Path],
    image: Sequence[Path] = (),
) -> list[str]:
    """The executor's command line, from the environment variables that Spark sets.

    Args:
        environment: `SPARK_*` as Spark's Kubernetes backend sets them, and where the archive of classes is.
        java_home: of the Java to run.
        home: Spark's.
        jars: Mainstem's own, in the driver's order.
        image: packages of the image.

    Raises:
        NotReady: `NotAnExecutor`, naming every variable that is missing.
    """
    wanted = [*_ARGUMENTS.values(), "SPARK_EXECUTOR_MEMORY"]
    if missing := [name for name in wanted if not environment.get(name)]:
        raise NotReady(
            f"these environment variables are not set: {', '.join(missing)}",
            reason="NotAnExecutor",
            remedy="do not start `mainstem executor` yourself: Spark starts it in the pods that a driver creates",
        )
    class_path = command_line.class_path(jars, home, image)
    if extra := environment.get(
        "SPARK_CLASSPATH"
    ):  # spark.executor.extraClassPath; last, for the archive's sake
        class_path = f"{class_path}:{extra}"
    return [
        f"{java_home}/bin/java",
        "-cp",
        class_path,
        f"-Xmx{environment['SPARK_EXECUTOR_MEMORY']}",
        *command_line.sharing({key: value for key, value in environment.items() if key != command_line.DUMP}),
        # Spark reads its secret from a file only where the master is Kubernetes, and tells executors of the master only
        # once they have shown that they know the secret.
        "-Dspark.master=k8s://driver",
        *_options(environment),
        _BACKEND,
        *(word for flag, name in _ARGUMENTS.items() for word in (flag, environment[name])),
    ]


def _options(environment: Mapping[str, str]) -> list[str]:
    """The Java options, each in a variable of its own: `SPARK_JAVA_OPT_10` comes after `SPARK_JAVA_OPT_9`."""
    numbered = {
        int(number): value
        for name, value in environment.items()
        if name.startswith(_OPTION) and (number := name.removeprefix(_OPTION)).isdecimal()
    }
    return [numbered[number] for number in sorted(numbered)]


def _jars() -> list[Path]:
    try:
        import mainstem_jars

        return mainstem_jars.paths()
    except (ImportError, FileNotFoundError) as error:
        raise NotReady(f"the JVM dependencies are missing: {error}", reason="JarsNotFound") from None


def write_credentials() -> None:
    """Write the files of credentials for the document's secrets, at the same paths as the driver."""
    # Without a secret the document names none; to read it would take longer than all the rest.
    folder = os.environ.setdefault(names.ENV_SECRETS, names.SECRETS_DIR)
    if not any(Path(folder).glob("*/*")):
        return
    from mainstem.language.document import read
    from mainstem.runtime.spark import secrets

    secrets.write(read(DOCUMENT).pipeline, CREDENTIALS)
