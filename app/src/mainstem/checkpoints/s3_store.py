"""An S3 store by Arrow's client, which needs no JVM."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pyarrow import ArrowException, fs

from mainstem import reasons, secrets
from mainstem.checkpoints.stores import StoredFile
from mainstem.errors import NotReady
from mainstem.language.model.connections import S3Connection


_FAILURES: Final = (
    (("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "403"), reasons.STORE_ACCESS_DENIED),
    (("NO_SUCH_BUCKET", "does not exist", "NoSuchBucket"), reasons.BUCKET_NOT_FOUND),
)
"""Parts of the client's messages -> the reason; any other error means that the store is unreachable."""


class S3Store:
    """The buckets of an S3 store; paths are `bucket/key`.

    Args:
        connection: the document's connection to the store; without it the environment has endpoint and credentials.

    Raises:
        NotReady: `SecretNotFound`.
    """

    prefix = "s3a://"

    def __init__(self, connection: S3Connection | None = None) -> None:
        self._client = fs.S3FileSystem(**_settings(connection), connect_timeout=5, request_timeout=30)

    def files(self, folder: str) -> list[StoredFile]:
        """All objects below a folder."""
        with _reported(folder):
            infos = self._client.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
        return [
            StoredFile(info.path[len(folder) + 1 :], info.size, info.mtime_ns // 1_000_000)
            for info in infos
            if info.type is fs.FileType.File
        ]

    def read(self, path: str) -> bytes:
        """The content of an object."""
        with _reported(path), self._client.open_input_stream(path, compression=None) as stream:
            return bytes(stream.read())

    def write(self, path: str, content: bytes) -> None:
        """Write an object."""
        with _reported(path), self._client.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    def copy(self, path: str, target: str) -> None:
        """Copy an object within the store."""
        with _reported(target):
            self._client.copy_file(path, target)

    def delete(self, path: str) -> None:
        """Remove an object."""
        with _reported(path):
            self._client.delete_file(path)

    def reserve(self, folder: str) -> bool:
        """Whether no object is below the folder: a store has no folders, so nothing keeps another process away."""
        return not self.files(folder)

    def prune(self, folder: str) -> None:
        """Remove the empty objects that stand for folders, inner ones first: some stores refuse another order."""
        with _reported(folder):
            infos = self._client.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
            if any(info.type is fs.FileType.File for info in infos):
                return  # another process has written here since; `delete_dir` would remove its files
            for path in (*sorted((info.path for info in infos), reverse=True), folder):
                with suppress(FileNotFoundError):
                    self._client.delete_dir(path)


def _settings(connection: S3Connection | None) -> dict[str, object]:
    """The client's settings: those of the connection, as a run has them, or those of the environment."""
    if connection is None:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        return {"region": region}
    settings: dict[str, object] = {"region": connection.region}
    if connection.endpoint:
        scheme, _, host = connection.endpoint.rpartition("://")
        settings |= {"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"}
        settings["force_virtual_addressing"] = not connection.path_style
    if connection.secret_ref:
        name = connection.secret_ref.name
        settings["access_key"] = secrets.value(name, "accessKey")
        settings["secret_key"] = secrets.value(name, "secretKey")
    return settings


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """Reports an error of the client in Mainstem's terms."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ArrowException) as error:
        message = str(error)
        reason = next(
            (reason for words, reason in _FAILURES if any(word in message for word in words)),
            reasons.STORE_UNREACHABLE,
        )
        raise NotReady(f"s3a://{path} cannot be read or written: {message}", reason=reason) from error
