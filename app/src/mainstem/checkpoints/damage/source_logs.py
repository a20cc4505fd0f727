"""The logs of sources of files: which entries a start reads, and which of them are missing or cannot be read.

The source's log names the files of each batch. An entry with the ending `.compact` has the files of all entries before it,
so a start reads the newest one and those after it.
"""

import json
from collections.abc import Iterable, Iterator

from mainstem.checkpoints import entries
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.requirements import Problem, parsed
from mainstem.checkpoints.stores import Folder
from mainstem.log_entries import COMPACT, entry_numbers


def last_entries(plan: entries.Plan) -> dict[str, int]:
    """Source of files -> the number of its last entry that a plan knows; pure."""
    values = plan.ends
    logs = {name: value.get("logOffset") for name, value in values.items() if isinstance(value, dict)}
    return {name: last for name, last in logs.items() if isinstance(last, int)}


def missing_entries(name: str, names: Iterable[str], last: int) -> Iterator[Problem]:
    """The entries that a source's log lacks since its newest compact entry; pure."""
    plain, compact = entry_numbers(names)
    last = max([last, *plain, *compact])
    for entry in range(max(compact, default=-1) + 1, last + 1):
        if entry not in plain:
            yield Problem(f"sources/{name}/{entry}", "is missing; it names files that the query has read")


def problems(folder: Folder, layout: Layout) -> Iterator[Problem]:
    """What is wrong with the logs of the sources of the newest plan."""
    wanted = needed(folder, layout)
    for name, last in _logs(folder, layout).items():
        yield from missing_entries(name, layout.names(f"sources/{name}"), last)
        for file in layout.below(f"sources/{name}"):
            yield from parsed(folder, file, _entry, blocks=file in wanted)


def needed(folder: Folder, layout: Layout) -> list[str]:
    """The entries that a start reads."""
    files = []
    for name in _logs(folder, layout):
        plain, compact = entry_numbers(layout.names(f"sources/{name}"))
        newest = max(compact, default=-1)
        files += [f"sources/{name}/{newest}{COMPACT}"] if compact else []
        files += [f"sources/{name}/{entry}" for entry in sorted(plain) if entry > newest]
    return files


def _logs(folder: Folder, layout: Layout) -> dict[str, int]:
    if not layout.planned:
        return {}
    try:
        return last_entries(entries.plan(folder.text(f"offsets/{layout.planned[-1]}")))
    except (ValueError, KeyError, TypeError, FileNotFoundError):
        return {}  # reported already


def _entry(text: str) -> None:
    """Check that Spark can read an entry; raises ValueError."""
    version, *lines = text.splitlines() or [""]
    if not version.startswith("v"):
        raise ValueError("it has no version")
    for line in lines:
        if not isinstance(json.loads(line), dict):
            raise ValueError("a line is not a JSON object")  # noqa: TRY004 - of the text, not of an argument
