"""`run DOCUMENT` with one executor in a JVM of its own, by Spark's local-cluster.

What its death leaves behind is real, and so is what it cannot do: its tasks come to it in bytes, and it has the classes
that executors of the image have, and no others.
"""

import sys
from dataclasses import replace
from pathlib import Path

import mainstem_jars
from mainstem import logs
from mainstem.errors import MainstemError
from mainstem.language.document import read
from mainstem.runtime import runner
from mainstem.runtime.clock import Clock
from mainstem.runtime.spark import command_line
from mainstem.runtime.spark.conf import JAVA_OPTIONS, LOG4J


PROGRAM = (__file__,)
"""For `Driver(program=...)`."""
ENV = {"SPARK_SCALA_VERSION": "2.13"}
"""The variable that keeps Spark's worker from searching a source tree."""
OWNED = {
    "spark.master": "local-cluster[1,2,700]",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "2",
    # Of itself such an executor has Spark's jars alone. It then fails in the task's first field, not in the class that it
    # lacks: "ClassCastException: cannot assign instance of scala.collection.generic.DefaultSerializationProxy".
    "spark.executor.extraClassPath": command_line.class_path(
        mainstem_jars.paths(), command_line.spark_home()
    ),
    "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} -Dlog4j2.configurationFile=file:{LOG4J}",
}


def main(file: Path) -> None:
    logs.configure("json", verbose=False)
    document = read(str(file))
    options = runner.on_this_machine(
        document, cores=2, heap="1g", idle=None, report=None, strict=False, verbose=False, clock=Clock()
    )
    runner.run(document, replace(options, environment=replace(options.environment, owned=OWNED)))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[2]))
    except MainstemError as error:
        print(error, file=sys.stderr)
        sys.exit(int(error.exit_code))
