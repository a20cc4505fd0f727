"""Small files that only one writer may create: objects of an S3 store by conditional PUT, and local files."""

from pathlib import Path
from typing import Any, Final, Protocol
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_PRECONDITION_FAILED: Final = 412


class SmallFile(Protocol):
    """A file that is read and written whole."""

    def create(self, text: str) -> bool:
        """Write the file where there is none; False where there is one, or another writer is at it."""
        ...

    def read(self) -> str | None:
        """The text; None where there is no file."""
        ...

    def replace(self, text: str) -> None:
        """Write the file, in place of one that is there."""
        ...

    def delete(self) -> None:
        """Remove the file."""
        ...


class S3Object:
    """An object of an S3 store, by the client of S3A's own, with its credentials and endpoint.

    Hadoop's own create() overwrites in a race. Errors are py4j's, with the Java cause within.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        self._jvm: Any = session._jvm  # noqa: SLF001
        where = self._jvm.org.apache.hadoop.fs.Path(path)
        system = where.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
        self._client = system.getS3AInternals().getAmazonS3Client("a small file of Mainstem's")
        self._bucket = str(where.toUri().getHost())
        self._key = str(where.toUri().getPath()).lstrip("/")
        self._requests = self._jvm.software.amazon.awssdk.services.s3.model

    def create(self, text: str) -> bool:
        """Write the object where there is none; False where there is one, or another writer is at it."""
        try:
            self._put(self._of(self._requests.PutObjectRequest).ifNoneMatch("*"), text)
        except Py4JJavaError as error:
            if _status(error) in (_CONFLICT, _PRECONDITION_FAILED):
                return False
            raise
        return True

    def read(self) -> str | None:
        """The text; None where there is no object."""
        try:
            request = self._of(self._requests.GetObjectRequest).build()
            return str(self._client.getObjectAsBytes(request).asUtf8String())
        except Py4JJavaError as error:
            if _status(error) == _NOT_FOUND:
                return None
            raise

    def replace(self, text: str) -> None:
        """Write the object, in place of one that is there."""
        self._put(self._of(self._requests.PutObjectRequest), text)

    def delete(self) -> None:
        """Remove the object."""
        self._client.deleteObject(self._of(self._requests.DeleteObjectRequest).build())

    def _of(self, kind: Any) -> Any:
        return kind.builder().bucket(self._bucket).key(self._key)

    def _put(self, request: Any, text: str) -> None:
        body = self._jvm.software.amazon.awssdk.core.sync.RequestBody.fromString(text)
        self._client.putObject(request.build(), body)


class LocalFile:
    """A file of this machine, or of a volume that is mounted here."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, text: str) -> bool:
        """Write the file where there is none; False where there is one."""
        made = self._beside(text)
        try:
            self._path.hardlink_to(made)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links, such as SMB or one in user space
            return self._create_without_link(text)
        finally:
            made.unlink()
        return True

    def read(self) -> str | None:
        """The text; None where there is no file."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def replace(self, text: str) -> None:
        """Write the file, in place of one that is there."""
        self._beside(text).replace(self._path)

    def delete(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)

    def _create_without_link(self, text: str) -> bool:
        try:
            with self._path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False
        return True

    def _beside(self, text: str) -> Path:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        made = self._path.with_name(f"{self._path.name}.{uuid4().hex}")
        made.write_text(text, encoding="utf-8")
        return made


def _status(error: Py4JJavaError) -> int:
    java = error.java_exception
    kind = str(java.getClass().getName())
    return int(java.statusCode()) if kind.startswith("software.amazon.awssdk.services.s3.model.") else 0
