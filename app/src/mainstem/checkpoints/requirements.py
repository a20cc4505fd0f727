"""Which files of the state a start needs, and which of them are missing or broken."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mainstem.checkpoints import entries, state_files
from mainstem.checkpoints.layout import Layout, state_folder
from mainstem.checkpoints.stores import Folder


@dataclass(frozen=True, order=True)
class Problem:
    """Something wrong with a file.

    Attributes:
        file: the path below the checkpoint.
        problem: what is wrong, as the end of a sentence that begins with the file.
        blocks: whether a start would fail, or go wrong; False if only a way back to an older batch is lost.
    """

    file: str
    problem: str
    blocks: bool = True


@dataclass
class StateRequirements:
    """What a start needs of the state.

    Attributes:
        files: the paths of the files.
        problems: missing and broken files.
        operators: the stateful operators.
    """

    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    operators: list[entries.Operator] = field(default_factory=list)


def state_requirements(folder: Folder, layout: Layout, batch: int) -> StateRequirements:
    """The files of the state from which a start runs a batch."""
    needs = StateRequirements()
    if batch == 0:
        return needs
    for number in range(max(layout.operators, default=-1) + 1):
        path = layout.operator_metadata(number, batch)
        if path is None:
            needs.problems.append(Problem(f"state/{number}/_metadata", "is missing"))
            continue
        operator = _read(folder, path, needs)
        if operator is not None:
            needs.operators.append(operator)
            needs.files += layout.below(f"state/{number}/_metadata") + layout.below(
                f"state/{number}/_stateSchema"
            )
            _operator(folder, layout, operator, batch, needs)
    return needs


def operators(folder: Folder, layout: Layout) -> list[entries.Operator]:
    """The stateful operators whose metadata can be read."""
    paths = (layout.operator_metadata(number, layout.next_batch + 1) for number in layout.operators)
    read = (_read(folder, path, StateRequirements()) for path in paths if path)
    return [operator for operator in read if operator]


def kept_batches(layout: Layout, known: Iterable[entries.Operator]) -> tuple[int, ...]:
    """The committed batches after which a new generation can start: their plan and their state are still there."""
    kept = set(layout.committed) & set(layout.planned)
    for operator in known:
        for store in operator.stores:
            for partition in range(store.partitions):
                names = layout.names(state_folder(operator.number, store, partition))
                kept &= {version - 1 for version in state_files.versions(names)}
    return tuple(sorted(kept))


def _read(folder: Folder, path: str, needs: StateRequirements) -> entries.Operator | None:
    try:
        return entries.operator(folder.text(path))
    except (ValueError, FileNotFoundError) as error:
        needs.problems.append(Problem(path, f"cannot be read: {error}"))
        return None


def _operator(
    folder: Folder, layout: Layout, operator: entries.Operator, batch: int, needs: StateRequirements
) -> None:
    for store in operator.stores:
        _schema(layout, operator, store, needs)
        for partition in range(store.partitions):
            path = state_folder(operator.number, store, partition)
            names = layout.names(path)
            rocksdb = not any(name.endswith((".delta", ".snapshot")) for name in names)
            chain = state_files.chain(names, batch, rocksdb=rocksdb)
            if chain.missing:
                needs.problems.append(
                    Problem(
                        f"{path}/{chain.missing}", f"is missing, and with it the state before batch {batch}"
                    )
                )
            needs.files += [f"{path}/{name}" for name in chain.files] + layout.below(f"{path}/_metadata")
            for name in chain.files:
                if name.endswith(".zip"):
                    _shared(folder, layout, path, name, needs)


def _schema(
    layout: Layout, operator: entries.Operator, store: entries.StateStore, needs: StateRequirements
) -> None:
    """Check that the files with the columns of a store exist."""
    files = [f"state/{file.rpartition('/state/')[2]}" for file in store.schema_files]
    for file in files or [f"{state_folder(operator.number, store, 0)}/_metadata/schema"]:
        if file not in layout.files:
            needs.problems.append(Problem(file, "is missing; it has the columns of the state"))


def _shared(folder: Folder, layout: Layout, path: str, name: str, needs: StateRequirements) -> None:
    """Check the files of RocksDB that a full copy refers to."""
    try:
        shared = state_files.shared_files(folder.read(f"{path}/{name}"))
    except (ValueError, FileNotFoundError) as error:
        needs.problems.append(Problem(f"{path}/{name}", f"cannot be read: {error}"))
        return
    for each in shared:
        file = layout.files.get(f"{path}/{each.path}")
        if file is None:
            needs.problems.append(Problem(f"{path}/{each.path}", f"is missing; {name} refers to it"))
        elif file.size != each.size:
            needs.problems.append(Problem(file.path, f"has {file.size} bytes; {name} names {each.size}"))
        if file is not None:
            needs.files.append(file.path)
