"""Where a pipeline runs: on this machine, or in the pods of a cluster. The rest of the runtime reads one kind of value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """The settings of a run that this machine, or the driver's pod, decides.

    Attributes:
        cores: threads for tasks, of all executors together.
        heap: Java heap of the driver, in the JVM's notation (`2g`).
        defaults: Spark properties of the environment; those of the document override them.
        owned: Spark properties of the environment; they override those of the document.
        profiles: folder of the files of credentials; None takes the scratch folder.
        memory: the option or field to raise where the heap is too small.
        address: where Spark's UI listens; None is every address.
        namespace: of the pipeline, on a cluster.
        run: the name of the run of the pipeline that this start continues; empty where each start is a run of its own.
        code: the document's folder, in which Python modules are looked for too, and jars by relative paths; None in a
            pod, whose image has them.
    """

    cores: int
    heap: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, str] = field(default_factory=dict)
    profiles: Path | None = None
    memory: str = "--heap"
    address: str | None = "127.0.0.1"
    code: Path | None = None
    namespace: str | None = None
    run: str = ""

    def owner(self, pipeline: str) -> str:
        """The name under which a pipeline of this environment owns tables and checkpoints that it alone may write."""
        return f"{self.namespace}/{pipeline}" if self.namespace else pipeline


def this_machine(*, cores: int | None = None, heap: str = "2g", code: Path | None = None) -> Environment:
    """The environment of this machine, with all its cores unless a number is given."""
    return Environment(cores=cores or os.cpu_count() or 1, heap=heap, code=code)
