"""Checks that a start finds all that it needs in a checkpoint, and describes what the start would do."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mainstem.checkpoints import entries, requirements
from mainstem.checkpoints.layout import Layout, checksum_file
from mainstem.checkpoints.requirements import Problem
from mainstem.checkpoints.stores import Folder


_CRC_HEAD: Final = b"crc\0"


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes:
        problems: what is wrong, in the order of the files.
        restart: what the next start does, as a sentence without its full stop.
    """

    problems: tuple[Problem, ...]
    restart: str

    @property
    def sound(self) -> bool:
        """Whether a start finds all that it needs."""
        return not any(problem.blocks for problem in self.problems)


def verify(folder: Folder, layout: Layout) -> Verification:
    """Check a checkpoint; reads all files that a start needs."""
    state = requirements.state_requirements(folder, layout, layout.next_batch)
    problems = [*_identity(folder, layout), *_batches(folder, layout), *_source_logs(folder, layout)]
    problems += state.problems
    logs = [path for name in ("offsets", "commits", "sources") for path in layout.below(name)]
    needed = dict.fromkeys(["metadata", *logs, *state.files])
    known = {problem.file for problem in problems}
    problems += [each for each in _checksums(folder, layout, needed) if each.file not in known]
    return Verification(tuple(sorted(set(problems))), restart(layout))


def restart(layout: Layout) -> str:
    """What the next start does with a sound checkpoint."""
    if layout.pending is not None:
        return f"a restart runs batch {layout.pending} again with the offsets it planned"
    if layout.last_committed is not None:
        last = layout.last_committed
        return f"a restart plans batch {last + 1}, from the offsets at which batch {last} ended"
    return "a restart begins with batch 0, at the starting offsets of the sources"


def _identity(folder: Folder, layout: Layout) -> Iterator[Problem]:
    if "metadata" not in layout.files:
        if layout.planned or layout.committed or layout.operators:
            yield Problem("metadata", "is missing, and with it the query's id")
        return
    yield from _parsed(folder, "metadata", entries.query_id)


def _batches(folder: Folder, layout: Layout) -> Iterator[Problem]:
    """Plans and commits: those that cannot be read, and those that are missing."""
    for batch in layout.planned:
        yield from _parsed(folder, f"offsets/{batch}", entries.plan)
    for batch in layout.committed:
        yield from _parsed(folder, f"commits/{batch}", entries.commit)
    planned, committed = set(layout.planned), set(layout.committed)
    first = min(planned | committed, default=0)
    last = max(planned | committed, default=-1)
    for batch in range(first, last + 1):
        if batch not in planned:
            yield _missing_plan(layout, batch)
        if batch not in committed and batch != layout.pending:
            yield Problem(f"commits/{batch}", "is missing, although a later batch was planned", blocks=False)


def _missing_plan(layout: Layout, batch: int) -> Problem:
    """A plan that is missing: a start needs the newest one, and before a pending batch the one before."""
    if batch in layout.committed:
        text = f"is missing, although commits/{batch} shows that the batch is committed"
    else:
        text = "is missing between other plans"
    newest = layout.last_committed if layout.pending is None else layout.pending - 1
    return Problem(f"offsets/{batch}", text, blocks=batch == newest)


def _parsed(folder: Folder, path: str, parse: Callable[[str], Any]) -> Iterator[Problem]:
    try:
        parse(folder.text(path))
    except (ValueError, KeyError, TypeError) as error:
        yield Problem(path, f"cannot be read: {error}")
    except FileNotFoundError:
        yield Problem(path, "has disappeared since the listing; a driver may be running")


def _source_logs(folder: Folder, layout: Layout) -> Iterator[Problem]:
    """Entries that are missing in the logs of sources of files, which name the files of each batch."""
    if not layout.planned:
        return
    try:
        offsets = entries.plan(folder.text(f"offsets/{layout.planned[-1]}")).offsets
    except (ValueError, KeyError, TypeError):
        return  # reported already
    for name, offset in offsets.items():
        value = entries.sources(offset)
        last = value.get("logOffset") if isinstance(value, dict) else None
        if isinstance(last, int):
            yield from missing_log_entries(name, layout.names(f"sources/{name}"), last)


def missing_log_entries(name: str, names: Iterable[str], last: int) -> Iterator[Problem]:
    """The entries that a source's log lacks since its newest compact entry; pure."""
    plain = {int(each) for each in names if each.isdecimal()}
    compact = {
        int(each.removesuffix(".compact"))
        for each in names
        if each.endswith(".compact") and not each.startswith(".")
    }
    last = max([last, *plain, *compact])
    for entry in range(max(compact, default=-1) + 1, last + 1):
        if entry not in plain:
            yield Problem(f"sources/{name}/{entry}", "is missing; it names files that the query has read")


def _checksums(folder: Folder, layout: Layout, paths: Iterable[str]) -> Iterator[Problem]:
    """The files whose content differs from the checksums that Hadoop keeps beside local files."""
    for path in paths:
        checksums = checksum_file(path)
        if path in layout.files and checksums in layout.files:
            try:
                agrees = matches(folder.read(path), folder.read(checksums))
            except FileNotFoundError:
                continue
            if not agrees:
                yield Problem(path, f"differs from its checksum in {checksums}")


def matches(content: bytes, checksums: bytes) -> bool:
    """Whether a file has the checksums of Hadoop's file beside it: a CRC-32 for each piece of fixed length."""
    piece = int.from_bytes(checksums[4:8], "big")
    if not checksums.startswith(_CRC_HEAD) or len(checksums) < 8 or piece == 0:
        return False
    expected = b"".join(
        zlib.crc32(content[start : start + piece]).to_bytes(4, "big")
        for start in range(0, len(content), piece)
    )
    return checksums[8:] == expected
