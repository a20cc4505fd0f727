"""Maven, which resolves jars from the registry."""

import shutil
import subprocess
from typing import IO

from harness.errors import HarnessError


def run(log: IO[str], *arguments: str) -> None:
    """Run Maven with goals and options; its output goes to the log.

    :raises HarnessError: when there is no Maven.
    :raises subprocess.CalledProcessError: when it fails.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise HarnessError("Maven is needed on PATH: maven on Debian")
    subprocess.run([maven, "-B", "-ntp", *arguments], stdout=log, stderr=log, check=True)
