"""Reads values of Secrets from folders of files, as Kubernetes mounts them; they never go to a document or a log.

Kubernetes replaces the files when a Secret changes, so each reader reads them again whenever it needs a value.
"""

import os
from pathlib import Path

from mainstem import names, reasons
from mainstem.errors import NotReady


def value(secret: str, key: str) -> str:
    """The value of a key: the content of `$MAINSTEM_SECRETS/<secret>/<key>`, without a trailing newline.

    Raises:
        NotReady: `SecretNotFound`; the message has the file's path, never a value.
    """
    file = _file(secret, key)
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise NotReady(
            f"the file {file} of the secret {secret!r} cannot be read: {error.strerror}",
            reason=reasons.SECRET_NOT_FOUND,
            remedy=f"set {names.ENV_SECRETS} to the folder that holds {secret}/{key}",
        ) from None


def exists(secret: str, key: str) -> bool:
    """Whether the secret has the key."""
    return _file(secret, key).exists()


def folder(secret: str) -> Path:
    """The full path of the secret's folder; the same in driver and executors."""
    return Path(os.environ.get(names.ENV_SECRETS, "secrets")).absolute() / secret


def changed_at(secret: str) -> int:
    """When a value of the secret last changed, in nanoseconds since 1970; 0 if it has none."""
    return max((file.stat().st_mtime_ns for file in folder(secret).glob("*")), default=0)


def _file(secret: str, key: str) -> Path:
    return Path(os.environ.get(names.ENV_SECRETS, "secrets")) / secret / key
