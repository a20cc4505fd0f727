"""Makes the user's Python modules importable, and checks that they are installed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from mainstem.dataframes.user_code.code import module_not_found
from mainstem.language.analysis.graph import Graph
from mainstem.language.code_references import references
from mainstem.language.model.queries import Query


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Add a folder as `add_folder` does; afterwards another folder may have modules of the same names.

    A JVM of this context keeps the folder in its Python workers.
    """
    path, environment, modules = list(sys.path), os.environ.get("PYTHONPATH"), set(sys.modules)
    add_folder(folder)
    try:
        yield
    finally:
        sys.path[:] = path
        os.environ.pop("PYTHONPATH", None)
        if environment is not None:
            os.environ["PYTHONPATH"] = environment
        for name in set(sys.modules) - modules:
            if _is_below(sys.modules[name], folder):
                del sys.modules[name]


def _is_below(module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)


def add_folder(folder: Path) -> None:
    """Add a folder to the end of the module search path, in this process and by PYTHONPATH in Spark's Python workers."""
    if str(folder) in sys.path:
        return
    sys.path.append(str(folder))
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{path}{os.pathsep}{folder}" if path else str(folder)


def check_installed(graph: Graph, query: Query) -> None:
    """Check, without an import, that the top-level module or package of all code that a query names is installed.

    Raises:
        NotReady: `ModuleNotFound`.
    """
    for where, reference in references(graph, query):
        package = reference.partition(":")[0].partition(".")[0]
        if find_spec(package) is None:
            raise module_not_found(where, f"no module {package!r}")
