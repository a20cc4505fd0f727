"""A function that does not return while a file exists."""

import time
from pathlib import Path


def hold(path: str) -> str:
    """The path, as soon as there is no file."""
    while Path(path).exists():
        time.sleep(0.05)
    return path
