"""The cache of built tools: built once, keyed by version and content, shared by every checkout of this user."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from harness.errors import HarnessError


class Built(NamedTuple):
    """A folder of the cache, complete and never changed again, and whether it was there already."""

    path: Path
    cached: bool


def cache_root() -> Path:
    """Return `${XDG_CACHE_HOME:-~/.cache}/mainstem`, which need not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mainstem"


def content_hash(*parts: str | Path) -> str:
    """Return 12 hex digits over the given strings and the contents (not the places) of the given files."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:12]


def tail(log: Path, lines: int = 40) -> str:
    """Return the last lines of a log, or the reason why there are none."""
    try:
        text = log.read_text(errors="replace")
    except OSError as error:
        return f"(no log: {error})"
    return "\n".join(text.splitlines()[-lines:]) or "(the log is empty)"


def build_once(name: str, key: str, build: Callable[[Path, IO[str]], None]) -> Built:
    """Return the cache's folder `name/key`, filled by `build(folder, log)` if it is not there.

    Builders of one key wait for each other, and a folder appears only when its build has succeeded. What a killed
    builder left is removed.

    :raises HarnessError: when `build` raises it, or anything else: the message carries the end of the build's log then.
    """
    final = cache_root() / name / key
    if final.is_dir():
        return Built(final, cached=True)
    final.parent.mkdir(parents=True, exist_ok=True)
    with _lock(final.with_name(f"{key}.lock")):
        if final.is_dir():  # another process built it while this one waited
            return Built(final, cached=True)
        _build(name, final, build)
    return Built(final, cached=False)


def complete(parent: Path) -> list[Path]:
    """The folders of all keys whose build has succeeded, those first that were used last."""
    folders = [path for path in parent.iterdir() if path.is_dir() and ".tmp-" not in path.name]
    return sorted(folders, key=lambda path: -path.stat().st_mtime)


def keep_newest(used: Path, number: int) -> None:
    """Keep a folder of the cache that is used now, and so many beside it, itself included, as were used last."""
    os.utime(used)
    for old in complete(used.parent)[number:]:
        going = old.with_name(f"{old.name}.tmp-{os.getpid()}")  # what is half removed counts for nothing
        with suppress(OSError):  # another process removes it too
            old.rename(going)
        shutil.rmtree(going, ignore_errors=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(name: str, final: Path, build: Callable[[Path, IO[str]], None]) -> None:
    log = final.with_name(f"{final.name}.log")
    for left in final.parent.glob(f"{final.name}.tmp-*"):  # its builder is dead: it would hold the lock
        shutil.rmtree(left, ignore_errors=True)
    # Beside the final place, so that the rename stays within one file system and is atomic.
    work = Path(tempfile.mkdtemp(prefix=f"{final.name}.tmp-", dir=final.parent))
    try:
        with log.open("w") as out:
            build(work, out)
        work.chmod(0o755)
        work.rename(final)
    except HarnessError:
        raise  # its message names what is missing; nothing has been logged
    except Exception as error:
        raise HarnessError(f"cannot build {name}: {error}\n--- the end of {log}\n{tail(log)}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
