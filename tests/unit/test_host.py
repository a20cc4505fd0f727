"""Missing requirements of a machine are reported by name; Java's own messages do not name them."""

import subprocess
import sys

import pytest


CHECK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
from mainstem.runtime.spark import host
host.check()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def check(soft: int, hard: int, *prefix: str) -> str:
    command = [*prefix, sys.executable, "-c", CHECK, str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_limit_of_open_files_is_raised_to_its_maximum() -> None:
    assert check(256, 4096) == "4096\n"


def test_a_limit_of_open_files_that_is_too_low_is_rejected() -> None:
    message = check(256, 256)
    assert "may open 256 files, and a run needs 1024" in message
    assert "[TooFewOpenFiles]" in message


def test_a_user_without_a_name_is_rejected() -> None:
    tried = subprocess.run(["unshare", "--map-user=54321", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("this system has no user namespaces")
    assert "[UserUnknown]" in check(256, 4096, "unshare", "--map-user=54321")
