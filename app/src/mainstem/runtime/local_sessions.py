"""Spark sessions on this machine for commands that start no query of a pipeline."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

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
        code = folder_of(document)
        with _importable(code):
            machine = this_machine(cores=self.cores, heap=self.heap, code=code)
            with opened(graph, replace(machine, owned=WITHOUT_PAGES), verbose=self.verbose) as spark:
                yield spark


def opened(graph: Graph, environment: Environment, *, verbose: bool) -> AbstractContextManager[SparkSession]:
    """A session in an environment. Standard output is reserved for the report of the command, which may be JSON."""
    return session.open_session(graph, environment, output=partial(print, file=sys.stderr), verbose=verbose)


def folder_of(document: Document) -> Path:
    """The folder of the document's file, with the user's Python modules."""
    return Path(document.file).absolute().parent


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """A context in which the modules of a folder can be imported; another folder may have other modules of the same names."""
    path, variable, known = list(sys.path), os.environ.get("PYTHONPATH"), set(sys.modules)
    user_modules.add_folder(folder)
    try:
        yield
    finally:
        sys.path[:] = path
        os.environ.pop("PYTHONPATH", None)
        if variable is not None:
            os.environ["PYTHONPATH"] = variable
        for name in set(sys.modules) - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(folder):
                del sys.modules[name]
