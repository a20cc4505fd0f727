"""The command lines of Spark's JVMs, driver and executor; without pyspark, whose import is slow.

The class path lists all jars in a fixed order. Spark's own scripts use `jars/*`, which Java expands in the order of the
folder. Java silently ignores a class archive (AppCDS) that was written with another order.
"""

import shlex
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mainstem import names


ARCHIVE: Final = "MAINSTEM_CDS_ARCHIVE"
"""Variable with the path of the class archive that a JVM maps; Java ignores an archive that does not fit."""
DUMP: Final = "MAINSTEM_CDS_DUMP"
"""Variable with the path of the class archive that the JVM writes when it ends, with all classes that it has loaded."""

MODULE_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.invoke=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""Options that Spark's launcher gives every driver JVM; Spark gives them to executors. A test compares them with its jar."""


def spark_home() -> Path:
    """The folder of the installed pyspark, without importing it.

    Raises:
        ModuleNotFoundError: pyspark is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    return Path(spec.submodule_search_locations[0])


def image_jars(environment: Mapping[str, str]) -> list[Path]:
    """Every jar of the image's folder of packages, sorted by name; no jar if the environment names no folder.

    In a pod only the image adds jars to those of Mainstem and Spark, so driver and executors have the same jars.
    """
    folder = environment.get(names.ENV_PACKAGES)
    return sorted(Path(folder).glob("*.jar")) if folder else []


def class_path(own: Iterable[str | Path], home: Path, packages: Iterable[str | Path] = ()) -> str:
    """The class path: `own`, then Spark's jars by name with slf4j first as in Spark's launcher, then packages.

    Packages are last, because a class archive fits every class path that begins with the one that it was written with.
    """
    jars = sorted(
        (home / "jars").glob("*.jar"), key=lambda jar: (not jar.name.startswith("slf4j-api-"), jar.name)
    )
    return ":".join(map(str, [*own, *jars, *packages]))


def sharing(environment: Mapping[str, str]) -> list[str]:
    """The Java options to write or to use a class archive; no options if the environment names no archive."""
    if dump := environment.get(DUMP):
        # Java logs a warning for each of the hundreds of classes that an archive cannot contain.
        return [f"-XX:ArchiveClassesAtExit={dump}", "-Xlog:cds=error", "-Xlog:cds+dynamic=error"]
    if archive := environment.get(ARCHIVE):
        # Java would log warnings about the archive to standard output, which is for the rows of console sinks.
        return [
            f"-XX:SharedArchiveFile={archive}",
            "-Xshare:auto",
            "-Xlog:all=off:stdout",
            "-Xlog:all=warning:stderr",
        ]
    return []


def driver(
    java_home: str,
    home: Path,
    conf: Mapping[str, str],
    arguments: Iterable[str],
    environment: Mapping[str, str],
    packages: Iterable[str | Path] = (),
) -> list[str]:
    """The command line that Spark's launcher would start for `spark-submit ARGUMENTS`, with a fixed class path.

    Args:
        java_home: the home of the Java to run.
        home: the home of Spark.
        conf: the Spark properties; memory, class path and Java options become part of the command line.
        arguments: the arguments of `spark-submit`.
        environment: the environment variables, which may name a class archive.
        packages: jars after Spark's own.
    """
    own = conf["spark.driver.extraClassPath"]
    return [
        f"{java_home}/bin/java",
        "-cp",
        class_path(own.split(":") if own else (), home, packages),
        f"-Xmx{conf['spark.driver.memory']}",
        *sharing(environment),
        *shlex.split(conf["spark.driver.extraJavaOptions"]),
        *MODULE_OPTIONS,
        "org.apache.spark.deploy.SparkSubmit",
        *arguments,
    ]
