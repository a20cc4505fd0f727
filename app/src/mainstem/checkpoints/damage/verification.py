"""Checks that a start finds all that it needs in a checkpoint, and describes what the start would do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mainstem.checkpoints import entries, requirements
from mainstem.checkpoints.checksums import checksum_file, differs
from mainstem.checkpoints.damage import records, source_logs
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.requirements import Problem, parsed
from mainstem.checkpoints.stores import Folder


WAYS_OUT: Final = (
    "restore the file from a copy, go back to an older batch with mainstem checkpoint rewind, or raise "
    "checkpoint.generation to start with an empty checkpoint; mainstem checkpoint verify names every damaged file"
)
"""What to do about a damaged checkpoint."""


@dataclass(frozen=True)
class Verification:
    """The result of a check.

    Attributes:
        problems: what is wrong, in the order of the files.
        restart: what the next start does, as a sentence without its full stop; if there are problems that block it, what it
            would do without them.
    """

    problems: tuple[Problem, ...]
    restart: str

    @property
    def sound(self) -> bool:
        """Whether a start finds all that it needs."""
        return not self.blocking

    @property
    def blocking(self) -> tuple[Problem, ...]:
        """The problems with which no start works."""
        return tuple(problem for problem in self.problems if problem.blocks)


def damage(checkpoint: str, problem: Problem, more: int = 0) -> str:
    """What is wrong with a checkpoint: its first problem, and how many there are besides; pure."""
    others = f", and {more} more" if more else ""
    return f"the checkpoint {checkpoint} is damaged: {problem.file} {problem.problem}{others}"


def verify(folder: Folder, layout: Layout, *, most: int | None = None) -> Verification:
    """Check a checkpoint; reads all files that a start needs.

    Args:
        folder: the folder of the checkpoint.
        layout: its files.
        most: compare files with their checksums only until so many bytes are read; None for no limit.
    """
    state = requirements.state_requirements(folder, layout, layout.next_batch)
    problems = [*metadata(folder, layout), *missing_batches(layout), *_unreadable_batches(folder, layout)]
    problems += [*source_logs.problems(folder, layout), *state.problems]
    needed = dict.fromkeys(
        ["metadata", *needed_batches(layout), *source_logs.needed(folder, layout), *state.files]
    )
    known = {problem.file for problem in problems}
    problems += [each for each in _checksums(folder, layout, needed, most) if each.file not in known]
    return Verification((*sorted(set(problems)), *records.problems(folder)), restart(layout))


def restart(layout: Layout) -> str:
    """What the next start does with a sound checkpoint."""
    if layout.pending is not None:
        return f"a restart runs batch {layout.pending} again with the offsets it planned"
    if layout.last_committed is not None:
        last = layout.last_committed
        return f"a restart plans batch {last + 1}, from the offsets at which batch {last} ended"
    return "a restart begins with batch 0, at the starting offsets of the sources"


def metadata(folder: Folder, layout: Layout) -> list[Problem]:
    """The problem of the file with the query's id, if there is one."""
    if "metadata" not in layout.files:
        begun = layout.planned or layout.committed or layout.operators
        return [Problem("metadata", "is missing, and with it the query's id")] if begun else []
    return list(parsed(folder, "metadata", entries.query_id))


def needed_batches(layout: Layout) -> list[str]:
    """The plans and the commit that a start reads: the two newest plans, and the newest commit."""
    plans = [f"offsets/{batch}" for batch in layout.planned[-1:]]
    plans += [f"offsets/{layout.planned[-1] - 1}"] if layout.planned and layout.planned[-1] > 0 else []
    return [*plans, *(f"commits/{batch}" for batch in layout.committed[-1:])]


def missing_batches(layout: Layout) -> Iterator[Problem]:
    """Plans and commits that are missing; pure."""
    planned, committed, needed = set(layout.planned), set(layout.committed), needed_batches(layout)
    first = min(planned | committed, default=0)
    last = max(planned | committed, default=-1)
    for batch in range(first, last + 1):
        if batch not in planned:
            file = f"offsets/{batch}"
            # asyncProgressTracking records neither plan nor commit of some batches.
            blocks = batch in committed and (file in needed or batch == last)
            yield Problem(file, _missing_plan(layout, batch), blocks)
        if batch not in committed and batch != layout.pending:
            yield Problem(f"commits/{batch}", "is missing, although a later batch was planned", blocks=False)


def _missing_plan(layout: Layout, batch: int) -> str:
    if batch in layout.committed:
        return f"is missing, although commits/{batch} shows that the batch is committed"
    return "is missing between other plans"


def _unreadable_batches(folder: Folder, layout: Layout) -> Iterator[Problem]:
    needed = needed_batches(layout)
    for batch in layout.planned:
        yield from parsed(folder, file := f"offsets/{batch}", entries.plan, blocks=file in needed)
    for batch in layout.committed:
        yield from parsed(folder, file := f"commits/{batch}", entries.commit, blocks=file in needed)


def _checksums(folder: Folder, layout: Layout, paths: Iterable[str], most: int | None) -> Iterator[Problem]:
    """The files whose content differs from the checksums that Hadoop keeps beside local files."""
    read = 0
    for path in (path for path in paths if path in layout.files):
        read += layout.files[path].size
        if most is not None and read > most:
            return
        if differs(folder, layout, path):
            yield Problem(path, f"differs from its checksum in {checksum_file(path)}")
