"""Checks the limits of this machine before Spark's JVM starts, because Spark's own messages do not name them."""

import os
import pwd
import resource
from typing import Final

from mainstem import reasons
from mainstem.errors import NotReady


OPEN_FILES: Final = 1024
"""Minimum of open files: the class path of Spark alone has over 300 jars, and each is an open file."""


def check() -> None:
    """Raise the limit of open files as far as allowed, and check this limit and the user of this process.

    Raises:
        NotReady: `TooFewOpenFiles`, `UserUnknown`.
    """
    _raise_open_files()
    _check_user()


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        raise NotReady(
            f"this process may open {hard} files, and a run needs {OPEN_FILES}",
            reason=reasons.TOO_FEW_OPEN_FILES,
            remedy=f"raise the hard limit to {OPEN_FILES} or more: `ulimit -n` as root, or LimitNOFILE of the service",
        )
    if soft < hard or (hard == resource.RLIM_INFINITY and soft < OPEN_FILES):
        limit = OPEN_FILES * 64 if hard == resource.RLIM_INFINITY else hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _check_user() -> None:
    """Check that the user has a name: Hadoop asks the system for it, and fails without one even with `HADOOP_USER_NAME`."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise NotReady(
            f"user {os.geteuid()} has no name in /etc/passwd, and Spark does not start without one",
            reason=reasons.USER_UNKNOWN,
            remedy="run as a user of /etc/passwd; the image of the app has one",
        ) from None
