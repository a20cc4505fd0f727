"""The command lines of Spark's JVMs, driver and executor; free of pyspark, which is slow to import.

The class path is written out jar by jar in one order. Spark's own scripts say `jars/*`, which Java expands in the
folder's order: an archive of classes (AppCDS) that was made with one order is refused, silently, with another.
"""

import shlex
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mainstem import names


ARCHIVE: Final = "MAINSTEM_CDS_ARCHIVE"
"""Names the archive of classes that a JVM maps in place of loading them; Java ignores one that does not fit."""
DUMP: Final = "MAINSTEM_CDS_DUMP"
"""Names the archive that the JVM writes when it ends, of every class that it has loaded by then."""

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
"""What Spark's launcher gives every JVM; Spark itself gives them to executors. A test holds them against its jar."""


def spark_home() -> Path:
    """The folder of the installed pyspark, found without importing it.

    Raises:
        ModuleNotFoundError: there is none.
    """
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
    return Path(spec.submodule_search_locations[0])


def image_jars(environment: Mapping[str, str]) -> list[Path]:
    """Every jar of the image's folder of packages, by name; none where the environment names no folder.

    The image alone decides what a pod has besides Mainstem's and Spark's jars, so that driver and executors agree.
    """
    folder = environment.get(names.ENV_PACKAGES)
    return sorted(Path(folder).glob("*.jar")) if folder else []


def class_path(own: Iterable[str | Path], home: Path, packages: Iterable[str | Path] = ()) -> str:
    """The class path: `own`, then Spark's jars by name, slf4j first as Spark's launcher has it, then packages.

    Packages stand last: an archive of classes fits every class path that begins with the one that it was made with.
    """
    jars = sorted(
        (home / "jars").glob("*.jar"), key=lambda jar: (not jar.name.startswith("slf4j-api-"), jar.name)
    )
    return ":".join(map(str, [*own, *jars, *packages]))


def sharing(environment: Mapping[str, str]) -> list[str]:
    """The Java options to write the archive of classes, or to use it; none where the environment names none."""
    if dump := environment.get(DUMP):
        # Java has a warning for each of the hundreds of classes that no archive can hold.
        return [f"-XX:ArchiveClassesAtExit={dump}", "-Xlog:cds=error", "-Xlog:cds+dynamic=error"]
    if archive := environment.get(ARCHIVE):
        # Java complains of an archive on standard output, which belongs to the rows of console sinks.
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
    """The command line that Spark's launcher would make of `spark-submit ARGUMENTS`, with the class path written out.

    Args:
        java_home: of the Java to run.
        home: Spark's.
        conf: the Spark properties; memory, class path and Java options are the command line's, not Spark's.
        arguments: those of `spark-submit`.
        environment: may name an archive of classes.
        packages: jars behind Spark's own.
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
