"""An image of one static executable, as an OCI archive: no build tool is needed for that."""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path
from typing import Any


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write(executable: Path, image: str, archive: Path) -> None:
    """Write an archive of the image `NAME:TAG` whose only file is the executable, run as uid 65532 without a shell."""
    layer = _layer(executable)
    config = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {"User": "65532:65532", "Entrypoint": [f"/{executable.name}"]},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    blobs: dict[str, bytes] = {}
    vendor = "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{vendor}.manifest.v1+json",
        "config": _blob(blobs, _json(config), f"{vendor}.config.v1+json"),
        "layers": [_blob(blobs, gzip.compress(layer, 1, mtime=0), f"{vendor}.layer.v1.tar+gzip")],
    }
    entry = _blob(blobs, _json(manifest), f"{vendor}.manifest.v1+json")
    entry["annotations"] = {
        "io.containerd.image.name": image,
        "org.opencontainers.image.ref.name": image.rpartition(":")[2],
    }
    with tarfile.open(archive, "w") as out:
        _add(out, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(out, "index.json", _json({"schemaVersion": 2, "manifests": [entry]}))
        for digest, data in blobs.items():
            _add(out, f"blobs/sha256/{digest}", data)


def _layer(executable: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        _add(tar, executable.name, executable.read_bytes(), mode=0o755)
    return out.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))


def _blob(blobs: dict[str, bytes], data: bytes, media_type: str) -> dict[str, Any]:
    digest = _digest(data)
    blobs[digest.removeprefix("sha256:")] = data
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
