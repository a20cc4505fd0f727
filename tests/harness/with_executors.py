"""`run DOCUMENT` with one executor in a JVM of its own, by Spark's local-cluster: what its death leaves behind is real."""

import sys
from dataclasses import replace
from pathlib import Path

from mainstem import logs
from mainstem.run import runner
from mainstem.spec.document import read


OWNED = {
    "spark.master": "local-cluster[1,2,700]",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "2",
}


def main(file: Path) -> None:
    logs.configure("json", verbose=False)
    document = read(str(file))
    options = runner.on_this_machine(
        document, cores=2, heap="1g", idle=None, report=None, strict=False, verbose=False
    )
    runner.run(document, replace(options, place=replace(options.place, owned=OWNED)))


if __name__ == "__main__":
    main(Path(sys.argv[2]))
