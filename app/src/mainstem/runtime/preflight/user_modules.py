"""Makes the user's Python modules importable, and checks that they are installed."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from mainstem.dataframes.user_code.code import module_not_found
from mainstem.language.analysis.graph import Graph
from mainstem.language.code_references import references
from mainstem.language.model.queries import Query


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
