"""A function that does not return while a file exists."""

import time
from pathlib import Path


def hold(path: str) -> str:
    """The path, as soon as there is no file; until then the file `held` beside it shows that the batch waits."""
    while Path(path).exists():
        Path(f"{path}.held").touch()
        time.sleep(0.05)
    return path
