"""Reads values of Secrets from folders of files, as Kubernetes mounts them; they never go to a document or a log."""

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


def _file(secret: str, key: str) -> Path:
    return Path(os.environ.get(names.ENV_SECRETS, "secrets")) / secret / key
