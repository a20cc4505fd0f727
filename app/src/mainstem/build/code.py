"""Python code that the document names as `module:object`."""

import importlib
from typing import Any

from mainstem.errors import NotReady


def load(reference: str) -> Any:
    """What `module:object` stands for; the object may be within another one: `module:Class.method`.

    Raises:
        NotReady: `PythonNotFound`: there is no such module, it fails, or has nothing of that name.
    """
    module, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise NotReady(
            f"{reference} cannot be loaded: {type(error).__name__}: {error}",
            reason="PythonNotFound",
            remedy="install the module in the image, or on a laptop name its folder in PYTHONPATH",
        ) from error
    return found
