"""The batches, sources and state folders of a checkpoint, from the list of its files; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from mainstem.checkpoints.entries import StateStore
from mainstem.checkpoints.stores import StoredFile
from mainstem.log_entries import entry_numbers


@dataclass(frozen=True)
class Layout:
    """The files of a checkpoint.

    Attributes:
        files: path below the checkpoint -> file.
    """

    files: Mapping[str, StoredFile]

    @classmethod
    def from_files(cls, files: Iterable[StoredFile]) -> "Layout":
        """The layout of a listing."""
        return cls({file.path: file for file in files})

    @cached_property
    def planned(self) -> tuple[int, ...]:
        """The numbers of the planned batches, ascending."""
        return self._numbers("offsets")

    @cached_property
    def committed(self) -> tuple[int, ...]:
        """The numbers of the committed batches, ascending."""
        return self._numbers("commits")

    @property
    def last_committed(self) -> int | None:
        """The last committed batch."""
        return self.committed[-1] if self.committed else None

    @property
    def pending(self) -> int | None:
        """The batch that is planned and not committed."""
        if not self.planned or (self.committed and self.planned[-1] <= self.committed[-1]):
            return None
        return self.planned[-1]

    @property
    def next_batch(self) -> int:
        """The batch that the next start runs."""
        if self.pending is not None:
            return self.pending
        return 0 if self.last_committed is None else self.last_committed + 1

    @property
    def is_stream(self) -> bool:
        """Whether it is the checkpoint of a stream; a query that runs once has a journal of runs instead."""
        return bool(self.planned or self.committed or "metadata" in self.files)

    @property
    def runs(self) -> tuple[int, ...]:
        """The finished runs of a query that runs once."""
        names = (path.split("/") for path in self.files if path.startswith("runs/") and "/done/" in path)
        return tuple(sorted(int(parts[-1]) for parts in names if parts[-1].isdecimal()))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def modified(self) -> int | None:
        """When the last batch was committed, or else when a file last changed; milliseconds since 1970."""
        if self.last_committed is not None:
            return self.files[f"commits/{self.last_committed}"].modified
        return max((file.modified for file in self.files.values()), default=None)

    @property
    def operators(self) -> tuple[int, ...]:
        """The numbers of the stateful operators, ascending."""
        parts = (path.split("/") for path in self.files if path.startswith("state/"))
        return tuple(sorted({int(each[1]) for each in parts if each[1].isdecimal()}))

    def operator_metadata(self, operator: int, batch: int) -> str | None:
        """The path of Spark's newest metadata of an operator before a batch runs; None if it has none."""
        folder = f"state/{operator}/_metadata"
        names = self.names(f"{folder}/v2")
        versions = [int(name) for name in names if name.isdecimal() and int(name) < batch]
        if versions:
            return f"{folder}/v2/{max(versions)}"
        return f"{folder}/metadata" if f"{folder}/metadata" in self.files else None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, without those below folders in it."""
        return self._by_folder.get(folder, [])

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        by_folder: dict[str, list[str]] = {}
        for path in self.files:
            folder, _, name = path.rpartition("/")
            by_folder.setdefault(folder, []).append(name)
        return by_folder

    def below(self, folder: str) -> list[str]:
        """The paths of all files below a folder, without hidden files."""
        return sorted(
            path
            for path in self.files
            if path.startswith(f"{folder}/") and not path.rpartition("/")[2].startswith(".")
        )

    def _numbers(self, folder: str) -> tuple[int, ...]:
        return tuple(sorted(entry_numbers(self.names(folder)).plain))


def state_folder(operator: int, store: StateStore, partition: int) -> str:
    """The folder of a partition of a state store."""
    folder = f"state/{operator}/{partition}"
    return folder if store.name == "default" else f"{folder}/{store.name}"
