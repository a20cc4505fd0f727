import os
import re
import secrets
import urllib.request
from pathlib import Path

from pyspark.sql import SparkSession

from harness import gotools
from harness.process import Process, free_port
from harness.server import Server


_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class S3Server(Server):
    """A real S3 server, versitygw, over plain HTTP with credentials of its own; each folder in `root` is a bucket.

    Give `root` to serve a folder that is there already (it is not removed then); with `readonly` every write is refused.
    Clients must use path-style addresses.
    """

    region = "us-east-1"

    def __init__(self, root: Path | None = None, *, readonly: bool = False) -> None:
        executable = gotools.VERSITYGW.build().path / "versitygw"
        super().__init__("s3")
        self.access_key = secrets.token_hex(10)
        self.secret_key = secrets.token_hex(20)
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        self.root = root or self._subfolder("root")
        self._sidecar = self._subfolder("metadata")
        self.process = Process(
            [executable, *self._flags(readonly)], self.folder / "versitygw.log", self._credentials()
        )

    def change_keys(self) -> None:
        """Start again with other keys; the old ones are refused."""
        self.stop()
        self.access_key = secrets.token_hex(10)
        self.secret_key = secrets.token_hex(20)
        self.process.set_environment(self._credentials())
        self.start()

    def _credentials(self) -> dict[str, str]:
        return {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}

    def make_bucket(self, name: str) -> None:
        """Make an empty bucket, unless it is there; works whether or not the server runs.

        :raises ValueError: when S3 allows no bucket of this name.
        """
        if not _BUCKET.fullmatch(name):
            raise ValueError(f"not a bucket's name: {name!r}")
        (self.root / name).mkdir(exist_ok=True)

    def open_to(self, spark: SparkSession, bucket: str, **settings: str) -> None:
        """Let a Spark session reach a bucket, in place of a connection; `settings` of Hadoop's client replace those here."""
        known = {
            "endpoint": self.endpoint,
            "endpoint.region": self.region,
            "path.style.access": "true",
            "access.key": self.access_key,
            "secret.key": self.secret_key,
        }
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        for key, value in (known | settings).items():
            hadoop.set(f"fs.s3a.bucket.{bucket}.{key}", value)

    def _subfolder(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir()
        return path

    def _flags(self, readonly: bool) -> list[str]:
        address = self.endpoint.removeprefix("http://")
        general = ["--port", address, "--region", self.region, "--health", "/health", "--quiet"]
        metadata = [] if _has_xattrs(self.root) else ["--sidecar", str(self._sidecar)]
        return [*general, *(["--readonly"] if readonly else []), "posix", *metadata, str(self.root)]

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/health", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:  # URLError is one
            return False


def _has_xattrs(folder: Path) -> bool:
    # Attributes are set before a finished file gets its name; a metadata file beside it is not, and kill -9 can part them.
    try:
        os.setxattr(folder, "user.mainstem", b"1")
        os.removexattr(folder, "user.mainstem")
    except (OSError, AttributeError):  # no such thing on this file system, or this system
        return False
    return True
