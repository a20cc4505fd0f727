"""Which files of the state a start needs, and which of them are missing or broken."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from mainstem import reasons
from mainstem.checkpoints import entries, state_files
from mainstem.checkpoints.checksums import differs
from mainstem.checkpoints.layout import Layout, state_folder
from mainstem.checkpoints.stores import Folder
from mainstem.errors import NotReady


MOST_REPLAYED: Final = 500
"""The most changes after an older full copy that Spark reads in place of a broken one: its default of
`spark.sql.streaming.stateStore.autoSnapshotRepair.maxChangeFileReplay`, which no document can change."""


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


def parsed(
    folder: Folder, path: str, parse: Callable[[str], Any], *, blocks: bool = True
) -> Iterator[Problem]:
    """The problem of a small file that `parse` rejects, if it does."""
    try:
        parse(folder.text(path))
    except (ValueError, KeyError, TypeError) as error:
        yield Problem(path, f"cannot be read: {error}", blocks)
    except FileNotFoundError:
        yield Problem(path, "has disappeared since the listing; a driver may be running", blocks)


def state_requirements(folder: Folder, layout: Layout, batch: int) -> StateRequirements:
    """The files of the state from which a start runs a batch."""
    needs = StateRequirements()
    if batch == 0:
        return needs
    for number in range(max(layout.operators, default=-1) + 1):
        path = layout.operator_metadata(number, batch)
        if path is None:
            text = "is missing; a restart writes it again"
            needs.problems.append(Problem(f"state/{number}/_metadata", text, blocks=False))
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


def partitions(folder: Folder, layout: Layout) -> int:
    """The number of partitions of all state stores.

    Raises:
        NotReady: `StateNotRepartitioned`: there is no state, or its stores differ.
    """
    numbers = {store.partitions for operator in operators(folder, layout) for store in operator.stores}
    if len(numbers) != 1:
        problem = (
            f"state stores with {', '.join(map(str, sorted(numbers)))} partitions" if numbers else "no state"
        )
        raise NotReady(f"the checkpoint {folder} has {problem}", reason=reasons.STATE_NOT_REPARTITIONED)
    return numbers.pop()


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
        _schema(folder, layout, operator, store, needs)
        for partition in range(store.partitions):
            path = state_folder(operator.number, store, partition)
            names = layout.names(path)
            rocksdb = not any(name.endswith((".delta", ".snapshot")) for name in names)
            chain = state_files.chain(
                _without_broken(folder, layout, path, names, batch, needs), batch, rocksdb=rocksdb
            )
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
                elif problem := state_files.incomplete(folder.read(f"{path}/{name}")):
                    needs.problems.append(Problem(f"{path}/{name}", problem))


def _without_broken(
    folder: Folder, layout: Layout, path: str, names: list[str], batch: int, needs: StateRequirements
) -> list[str]:
    """The names of a partition's files without full copies that cannot be read, if an older copy serves in their place.

    Spark then reads the older copy, and the changes since, if these are few enough (its AutoSnapshotLoader).
    """
    chain = state_files.chain(names, batch)
    copy = next((name for name in chain.files if name.endswith((".zip", ".snapshot"))), None)
    if copy is None:
        return names
    others = [name for name in names if name != copy]
    older = state_files.chain(others, batch)
    if older.missing or batch - older.copied > MOST_REPLAYED:
        return names
    if (broken := _broken(folder, layout, path, copy)) is None:
        return names
    text = f"{broken[1]}; a restart reads an older copy and the changes since"
    needs.problems.append(Problem(f"{path}/{broken[0]}", text, blocks=False))
    return _without_broken(folder, layout, path, others, batch, needs)


def _broken(folder: Folder, layout: Layout, path: str, copy: str) -> tuple[str, str] | None:
    """The full copy or the file that it refers to that cannot be read, and why; None if all can."""
    if differs(folder, layout, f"{path}/{copy}"):
        return copy, "differs from its checksum"
    if copy.endswith(".snapshot"):
        problem = state_files.incomplete(folder.read(f"{path}/{copy}"))
        return (copy, problem) if problem else None
    try:
        shared = state_files.shared_files(folder.read(f"{path}/{copy}"))
    except (ValueError, FileNotFoundError) as error:
        return copy, f"cannot be read: {error}"
    for each in shared:
        file = layout.files.get(f"{path}/{each.path}")
        if file is None:
            return each.path, f"is missing, and {copy} refers to it"
        if file.size != each.size or differs(folder, layout, file.path):
            return each.path, f"has other content, and {copy} refers to it"
    return None


def _schema(
    folder: Folder,
    layout: Layout,
    operator: entries.Operator,
    store: entries.StateStore,
    needs: StateRequirements,
) -> None:
    """Check that the files with the columns of a store exist, and can be read."""
    named = [f"state/{file.rpartition('/state/')[2]}" for file in store.schema_files]
    for file in named or [f"{state_folder(operator.number, store, 0)}/_metadata/schema"]:
        if file not in layout.files:
            again = (
                ""
                if named
                else "; a restart writes it again, and does not compare the columns with the query's"
            )
            text = f"is missing; it has the columns of the state{again}"
            needs.problems.append(Problem(file, text, blocks=bool(named)))
        elif not entries.schemas(folder.read(file)):
            needs.problems.append(Problem(file, "cannot be read; it has the columns of the state"))


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
