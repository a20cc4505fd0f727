"""Where a pipeline runs: this machine, or the pods of a cluster. One kind of value, so that the rest asks nobody."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """What the surroundings decide about a run.

    Attributes:
        cores: threads for tasks, of all executors together.
        heap: Java heap of the driver, in the JVM's words (`2g`).
        defaults: Spark properties of the place, under those of the document.
        owned: Spark properties of the place, over those of the document.
        profiles: folder of the files of credentials; None takes the scratch folder.
        room: what to change where the heap is too small.
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
    room: str = "--heap"
    address: str | None = "127.0.0.1"
    code: Path | None = None
    namespace: str | None = None
    run: str = ""

    def owner(self, pipeline: str) -> str:
        """Under what name a pipeline of this place claims what it alone may write."""
        return f"{self.namespace}/{pipeline}" if self.namespace else pipeline


def this_machine(*, cores: int | None = None, heap: str = "2g", code: Path | None = None) -> Environment:
    """The machine that the command runs on, with all its cores unless a number is given."""
    return Environment(cores=cores or os.cpu_count() or 1, heap=heap, code=code)
