"""The settings that differ between a run on one machine and a run in a pod; the rest of the runtime is the same."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mainstem.checkpoints.owner import DriverIdentity


WITHOUT_PAGES: Final = {"spark.ui.enabled": "false", "spark.eventLog.enabled": "false"}
"""Spark properties of a session that runs no pipeline: it shows no page, and writes no log beside that of the pipeline."""


@dataclass(frozen=True)
class Environment:
    """The settings of a run that the machine or the driver's pod decides.

    Attributes:
        cores: threads for tasks, of all executors together.
        heap: size of the driver's Java heap in the JVM's notation (`2g`).
        defaults: Spark properties of the environment that the document may override.
        owned: Spark properties of the environment that override those of the document.
        memory: the option or field to raise if the heap is too small.
        address: the address on which Spark's UI listens; None means every address.
        code: the document's folder, for Python modules and for jars with relative paths; None in a pod, whose image has
            them.
        namespace: the namespace of the pipeline, on a cluster.
        cluster: uid of the cluster's namespace `kube-system`; empty if it is not known.
        uid: uid of the pipeline's resource, on a cluster.
        attempt: the driver start number, on a cluster.
        run: name of the pipeline's run that this start continues; empty if each start is a run of its own.
    """

    cores: int
    heap: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, str] = field(default_factory=dict)
    memory: str = "--heap"
    address: str | None = "127.0.0.1"
    code: Path | None = None
    namespace: str | None = None
    cluster: str = ""
    uid: str = ""
    attempt: int = 0
    run: str = ""

    def owner(self, pipeline: str) -> str:
        """The name under which a pipeline of this environment owns its tables and checkpoints."""
        return f"{self.namespace}/{pipeline}" if self.namespace else pipeline

    def driver(self, pipeline: str) -> DriverIdentity:
        """A driver of a pipeline in this environment, as owner records name it."""
        return DriverIdentity(self.owner(pipeline), self.cluster, self.uid, self.attempt)


def this_machine(*, cores: int | None = None, heap: str = "2g", code: Path | None = None) -> Environment:
    """The environment of this machine, by default with all its cores."""
    return Environment(cores=cores or os.cpu_count() or 1, heap=heap, code=code)
