"""Copies a checkpoint for both documents, and keeps the plans of the batches that they process again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.changes import Effect, compare
from mainstem.changes.record import parse, part_of, placed
from mainstem.checkpoints import copying, document_record, entries, finding
from mainstem.checkpoints.finding import Checkpoint
from mainstem.checkpoints.stores import Folder
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query


_ATTEMPTS: Final = 5
"""A running driver removes old files of its checkpoint; then a copy is made again, of the newer checkpoint."""
_HISTORY: Final = 3
"""Plans and commits of a copy. Spark continues from the newest ones, and a running driver removes the oldest ones."""
_GONE: Final = (reasons.CHECKPOINT_IN_USE, reasons.BATCH_NOT_KEPT)


@dataclass(frozen=True)
class Plans:
    """The batches that both documents process again.

    Attributes:
        base: the committed batch after which the copies continue.
        batches: the numbers of the batches in the pipeline's checkpoint.
        texts: the entry of each batch in the offset log: with it Spark processes exactly the same input.
    """

    base: int
    batches: tuple[int, ...]
    texts: tuple[str, ...]


def used_generations(graph: Graph) -> dict[str, int]:
    """Query -> the generation in use, if `checkpoint.onChange: newGeneration` has chosen a later one than the document's."""
    used = {}
    for query in graph.spec.queries:
        if query.checkpoint.on_change == "newGeneration":
            folder = finding.opened(_location(graph, query.checkpoint_id), graph.pipeline)
            numbers = {each.path.partition("/")[0] for each in folder.files()}
            newest = max((int(number) for number in numbers if number.isdecimal()), default=0)
            if newest > query.checkpoint.generation:
                used[query.name] = newest
    return used


def checkpoint_of(graph: Graph, query: Query) -> Folder:
    """The folder of a query's checkpoint."""
    return finding.opened(_location(graph, query.checkpoint_path), graph.pipeline)


def fork(source: Folder, count: int, targets: tuple[Path, Path]) -> Plans:
    """Copy a checkpoint twice as it was before its last committed batches; a driver may write to it meanwhile.

    Args:
        source: the checkpoint's folder.
        count: the number of batches to process again; fewer if the checkpoint has fewer.
        targets: the folders of the copies.

    Raises:
        NotReady: `CheckpointNotFound`, also without a committed batch; `BatchNotKept`; `CheckpointInUse` if files disappeared in every attempt.
    """
    first, second = (finding.opened(str(path)) for path in targets)
    plans = _patient_fork(source, count, first)
    copy = finding.stream(first)
    copying.carry_out(copying.plan(copy.folder, copy.layout, plans.base, second), copy.folder, second)
    return plans


def _patient_fork(source: Folder, count: int, target: Folder) -> Plans:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _forked(finding.stream(source), count, target)
        except FileNotFoundError:
            pass
        except NotReady as error:
            if error.reason not in _GONE:
                raise
    try:
        return _forked(finding.stream(source), count, target)
    except FileNotFoundError as error:
        raise NotReady(
            f"files of the checkpoint {source} disappeared during each attempt to copy it",
            reason=reasons.CHECKPOINT_IN_USE,
            remedy="repeat the command with fewer batches",
        ) from error


def note_of_record(source: Folder, graph: Graph, query: Query) -> list[str]:
    """A note if the checkpoint's document record has another document than the old one: the control is not what runs."""
    try:
        record = parse(source.store.read(document_record.record_of(source.path)).decode(errors="replace"))
    except FileNotFoundError:
        return []
    if record is None:
        return []
    wanted = part_of(graph, query.name)
    changes = [
        change
        for verdict in compare(placed(record.document, wanted), wanted).queries
        for change in verdict.changes
        if change.effect not in (Effect.UNCHANGED, Effect.LIVE)
    ]
    if not changes:
        return []
    return [
        f"the old document is not the one that wrote the checkpoint last: {changes[0].path}: {changes[0].text}"
    ]


def plan_next(fork_folder: Path, number: int, text: str) -> None:
    """Write the plan of the next batch into a copy: Spark processes a planned batch that is not committed.

    The plan gets the watermark of the copy's own last batch, as Spark would plan it.
    """
    folder = finding.opened(str(fork_folder))
    watermark = entries.commit(folder.text(f"commits/{number - 1}"))
    folder.write(f"offsets/{number}", entries.with_watermark(text, watermark).encode())


def _forked(checkpoint: Checkpoint, count: int, target: Folder) -> Plans:
    layout = checkpoint.layout
    known = sorted(set(layout.committed) & set(layout.planned))
    if not known:
        raise NotReady(
            f"the checkpoint {checkpoint.folder} has no committed batch", reason=reasons.CHECKPOINT_NOT_FOUND
        )
    if len(known) < 2:
        raise NotReady(
            f"the checkpoint {checkpoint.folder} has one committed batch, and a trial needs two: one to continue after, "
            "and one to process again",
            reason=reasons.BATCH_NOT_KEPT,
            remedy="repeat the command once the pipeline has committed more batches",
        )
    base, *batches = known[-count - 1 :]
    texts = tuple(checkpoint.folder.text(f"offsets/{batch}") for batch in batches)
    copy = copying.plan(checkpoint.folder, layout, base, target, history=_HISTORY)
    copying.carry_out(copy, checkpoint.folder, target)
    return Plans(base, tuple(batches), texts)


def _location(graph: Graph, path: str) -> str:
    return f"{graph.spec.checkpoints.location.rstrip('/')}/{path}"
