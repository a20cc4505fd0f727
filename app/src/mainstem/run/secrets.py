"""Secrets: folders of files, as Kubernetes mounts them; never in a document, a property or a log."""

import os
from pathlib import Path

from mainstem import names
from mainstem.errors import NotReady
from mainstem.spec.pipeline import StreamingPipeline


def value(secret: str, key: str) -> str:
    """One value: the content of `$MAINSTEM_SECRETS/<secret>/<key>`, without a trailing newline.

    Raises:
        NotReady: `SecretNotFound`, naming the file that was looked for, never a value.
    """
    folder = os.environ.get(names.ENV_SECRETS, "secrets")
    file = Path(folder) / secret / key
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise NotReady(
            f"the secret {secret!r} has no readable file {file}: {error.strerror}",
            reason="SecretNotFound",
            remedy=f"set {names.ENV_SECRETS} to the folder that holds {secret}/{key}",
        ) from None


def write_profiles(pipeline: StreamingPipeline, folder: Path) -> Path | None:
    """An AWS profile file with one profile per S3 connection that names a secret; None where none does.

    S3A reads it through its ProfileAWSCredentialsProvider, so that no credential becomes a Spark property.
    """
    profiles = []
    for connection in pipeline.spec.connections:
        if connection.s3 is None or connection.s3.secret_ref is None:
            continue
        name = connection.s3.secret_ref.name
        profiles += [
            f"[{connection.name}]",
            f"aws_access_key_id = {value(name, 'accessKey')}",
            f"aws_secret_access_key = {value(name, 'secretKey')}",
        ]
    if not profiles:
        return None
    file = folder / "s3-profiles"
    file.touch(mode=0o600)
    file.write_text("\n".join(profiles) + "\n", encoding="utf-8")
    return file
