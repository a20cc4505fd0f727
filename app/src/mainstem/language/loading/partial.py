"""The sound parts of a document whose other parts are broken, so that the rules can check the sound parts.

The result is a document without the broken parts and without the parts that refer to them. Its lists are shorter:
`places` holds the original index of each entry.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainstem.errors import Problem
from mainstem.language.yaml.yamltext import Path, YamlText, parse_path


_LISTS: Final = ("parameters", "connections", "functions", "sources", "views", "queries")
_SPARE: Final = "mainstem_spare"
"""Name of the entry that fills a required list."""
_ABSENT: Final = frozenset(
    """
    BucketUnlisted DeadLettersUnread NothingRuns QuarantineUnread RefreshNotAllowed ScheduleUnbounded UnknownConnection
    UnknownFunction UnknownParameter UnknownRelation UnusedSource
    """.split()  # noqa: SIM905
)
"""Reasons of problems that missing entries of lists may cause."""
_WITHOUT_TRIGGER: Final = frozenset({"ScheduleUnbounded"})
"""Reasons of problems that a missing trigger of the pipeline may cause."""
_ENTRY: Final = re.compile(r"spec\.(\w+)\[(\d+)\]")


@dataclass(frozen=True)
class Rest:
    """The sound parts of a document.

    Attributes:
        text: the document without its broken parts.
        places: list -> the original index of each entry.
        absent: reasons of problems that the missing parts may cause.
    """

    text: YamlText
    places: dict[str, tuple[int, ...]]
    absent: frozenset[str]

    def whole(self, problems: Sequence[Problem]) -> Iterator[Problem]:
        """Problems with the paths of the whole document, without those that the missing parts may cause."""
        for problem in problems:
            entry = _ENTRY.match(problem.path)
            if problem.reason in self.absent:
                continue
            if entry is None or entry[1] not in self.places:
                yield problem
            elif int(entry[2]) < len(places := self.places[entry[1]]):  # else the entry is a spare one
                path = f"spec.{entry[1]}[{places[int(entry[2])]}]{problem.path[entry.end() :]}"
                yield replace(problem, path=path)


def rest(part: YamlText, problems: Sequence[Problem]) -> Rest | None:
    """The sound parts of a document; None if they are not a readable document."""
    data = part.data
    if not isinstance(data, dict) or not isinstance(data.get("spec"), dict):
        return None
    kept: dict[str, list[int]] = {
        name: list(range(len(data["spec"][name])))
        for name in _LISTS
        if isinstance(data["spec"].get(name), list)
    }
    spec, names = dict(data["spec"]), set[str]()
    for path in {parse_path(problem.path)[:3] for problem in problems}:
        if len(path) == 3 and path[0] == "spec" and path[1] in kept and isinstance(path[2], int):
            if path[2] in kept[path[1]]:
                kept[path[1]].remove(path[2])
                names |= _named(data["spec"][path[1]][path[2]])
        elif len(path) > 1 and path[0] == "spec" and path[1] in spec and path[1] not in _NEEDED:
            del spec[path[1]]
            kept.pop(str(path[1]), None)
        elif path[:1] != ("metadata",):
            return None
    _drop_readers(data["spec"], kept, names)
    shorter = {name: [spec[name][index] for index in indices] for name, indices in kept.items()}
    whole = {**data, "metadata": {"name": "rest"}, "spec": {**spec, **shorter, **_spares(shorter)}}
    places = {name: tuple(indices) for name, indices in kept.items()}
    is_shorter = any(_lacks(data["spec"].get(name), places.get(name, ())) for name in _LISTS)
    absent = _ABSENT if is_shorter else frozenset[str]()
    if "trigger" in data["spec"] and "trigger" not in spec:
        absent |= _WITHOUT_TRIGGER
    return Rest(_moved(part, whole, places), places, absent)


def _lacks(before: Any, places: Sequence[int]) -> bool:
    """Whether entries of a list are missing; a value that is not a list is missing as a whole."""
    return before is not None and (not isinstance(before, list) or len(places) < len(before))


_NEEDED: Final = ("checkpoints", "sources", "queries")


def _named(entry: Any) -> set[str]:
    """The names by which other entries may refer to an entry."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return set()
    return {name.lower(), f"{name.lower()}_dead_letters", f"{name.lower()}_quarantine"}


def _drop_readers(spec: dict[str, Any], kept: dict[str, list[int]], names: set[str]) -> None:
    """Remove the entries that refer to removed entries, and repeat that for those entries."""
    words = {
        (name, index): set(re.findall(r"[\w-]+|\w+", " ".join(_texts(spec[name][index])).lower()))
        for name, indices in kept.items()
        for index in indices
    }
    changed = True
    while changed:
        changed = False
        for (name, index), entry_words in words.items():
            if index in kept[name] and entry_words & names:
                kept[name].remove(index)
                names |= _named(spec[name][index])
                changed = True


def _texts(value: Any, *, own: bool = True) -> Iterator[str]:
    """The strings of an entry, except its own name."""
    if isinstance(value, dict):
        for key, child in value.items():
            if not (own and key == "name"):
                yield from _texts(child, own=False)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child, own=False)
    elif isinstance(value, str):
        yield value


def _spares(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """An entry for each required list that is empty."""
    source = {"name": _SPARE, "rate": {}}
    spare: dict[str, list[Any]] = {}
    if not lists.get("sources"):
        spare["sources"] = [source]
    if not lists.get("queries"):
        relation = (lists.get("sources") or [source])[0]["name"]
        spare["queries"] = [
            {"name": "mainstem-spare", "from": relation, "to": [{"name": "none", "noop": {}}]}
        ]
    return spare


def _moved(part: YamlText, data: Any, places: dict[str, tuple[int, ...]]) -> YamlText:
    """The text with other data, and with each remaining position at its new path."""
    numbers = {(name, old): new for name, indices in places.items() for new, old in enumerate(indices)}

    def path(old: Path) -> Path | None:
        if len(old) < 3 or old[0] != "spec" or old[1] not in places:
            return old
        new = numbers.get((str(old[1]), int(old[2])))
        return None if new is None else (*old[:2], new, *old[3:])

    def moved(known: dict[Path, Any]) -> dict[Path, Any]:
        return {new: value for old, value in known.items() if (new := path(old)) is not None}

    return replace(
        part,
        data=data,
        positions=moved(part.positions),
        keys=moved(part.keys),
        spans=moved(part.spans),
        texts=moved(part.texts),
        misread=moved(part.misread),
    )
