"""Spark sessions on this machine for commands that start no query of a pipeline."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document
from mainstem.runtime.preflight import user_modules
from mainstem.runtime.spark import session
from mainstem.runtime.spark.environment import WITHOUT_PAGES, Environment, this_machine


Opener = Callable[[Document, Graph], AbstractContextManager[SparkSession]]
"""Opens the session of a document."""


@dataclass(frozen=True)
class LocalSessions:
    """Opens sessions on this machine.

    Attributes:
        cores: threads for tasks; None for all cores.
        heap: size of the Java heap.
        verbose: show Spark's INFO lines.
    """

    cores: int | None = None
    heap: str = "2g"
    verbose: bool = False

    @contextmanager
    def __call__(self, document: Document, graph: Graph) -> Iterator[SparkSession]:
        """A session with the stores, secrets and properties of the document.

        Raises:
            NotReady: as `session.open_session` does.
        """
        with user_modules.in_folder(document.folder):
            machine = this_machine(cores=self.cores, heap=self.heap, code=document.folder)
            with opened(graph, replace(machine, owned=WITHOUT_PAGES), verbose=self.verbose) as spark:
                yield spark


def opened(graph: Graph, environment: Environment, *, verbose: bool) -> AbstractContextManager[SparkSession]:
    """A session in an environment. Standard output is reserved for the report of the command, which may be JSON."""
    return session.open_session(graph, environment, output=partial(print, file=sys.stderr), verbose=verbose)


def jvm_needs(document: Document) -> tuple[Any, ...]:
    """What the JVM of a document depends on, beside the connections."""
    spec = document.pipeline.spec
    return document.folder, spec.packages, spec.spark, spec.time_zone
