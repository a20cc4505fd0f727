"""The log of a sink of files, `_spark_metadata` in its folder: which entries are missing, and which cannot be read; pure.

An entry names the files of one batch, and one with the ending `.compact` those of all batches before it too. Spark's readers
see only files that the log names.
"""

import json
from collections.abc import Callable, Collection, Iterator

from mainstem.checkpoints.checksums import checksum_file, matches
from mainstem.checkpoints.requirements import Problem
from mainstem.log_entries import COMPACT, entry_numbers


def missing_batches(names: Collection[str], last: int) -> list[int]:
    """The batches up to a committed one whose entries the log lacks since its newest compact one.

    A query that had no sink for this folder for a while has left out these batches too.
    """
    plain, compact = entry_numbers(names)
    if not plain and not compact:
        return []
    first = max(compact) + 1 if compact else min(plain)
    return [batch for batch in range(first, max([last, *plain]) + 1) if batch not in plain]


def broken(names: Collection[str], read: Callable[[str], bytes]) -> Iterator[Problem]:
    """The entries that Spark reads and that are not whole.

    Args:
        names: the names of the files of the log.
        read: the content of a file.
    """
    plain, compact = entry_numbers(names)
    newest = max(compact, default=-1)
    needed = [f"{newest}{COMPACT}"] if compact else []
    for name in [*needed, *(str(batch) for batch in sorted(plain) if batch > newest)]:
        try:
            content = read(name)
            _check(content.decode())
        except FileNotFoundError:
            yield Problem(name, "has disappeared since the listing")
            continue
        except ValueError as error:
            yield Problem(name, f"cannot be read: {error}")
            continue
        checksums = checksum_file(name)
        if checksums in names and not matches(content, read(checksums)):
            yield Problem(name, f"differs from its checksum in {checksums}")


def _check(text: str) -> None:
    """Check the ends of an entry, which may be long; raises ValueError."""
    version, *lines = text.splitlines() or [""]
    if not version.startswith("v"):
        raise ValueError("it has no version")
    if lines and not isinstance(json.loads(lines[-1]), dict):
        raise ValueError("its last line is not a JSON object")
