"""Python code that the document names as `module:object`."""

import importlib
from typing import Any

from mainstem.errors import NotReady


def load(reference: str) -> Any:
    """What `module:object` stands for; the object may be within another one: `module:Class.method`.

    Raises:
        NotReady: `PythonNotFound`: there is no such module, or nothing of that name in it.
    """
    module, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise NotReady(
            f"{reference} cannot be loaded: {error}",
            reason="PythonNotFound",
            remedy="install the module in the image, or on a laptop name its folder in PYTHONPATH",
        ) from error
    return found
