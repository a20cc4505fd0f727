"""The output of `mainstem checkpoint` for a terminal; at most 120 columns, long lists aside."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mainstem.checkpoints import times
from mainstem.checkpoints.copying import ranges
from mainstem.checkpoints.damage.verification import Verification


WIDTH: Final = 110
_LABEL: Final = 12
_HEAD: Final = ("QUERY", "GENERATION", "COMMITTED", "PENDING", "AGE", "SIZE", "STATE", "OWNER")


def table(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The output of `ls`."""
    rows = [_HEAD, *(_row(each) for each in summaries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def details(shown: Mapping[str, Any]) -> str:
    """The output of `show`."""
    lines = [f"{shown['path']}"]
    lines += _rows("query id", [shown["queryId"] or "unknown"])
    lines += _rows("committed", [_committed(shown)])
    lines += _rows("restart", [shown["restart"].removeprefix("a restart ")])
    lines += _rows("watermark", [shown["watermark"] or "none"])
    lines += _rows("go back to", _back(shown["canGoBackTo"]))
    lines += _rows("owner", [_owner_line(shown["owner"])])
    lines += _rows("size", [f"{times.size(shown['bytes'])} in {shown['files']} files"])
    pending = shown["pendingOffsets"] or {}
    for name, offset in shown["offsets"].items():
        parts = [*_offset(offset, pending.get(name)), *_backlog(shown.get("ends", {}).get(name))]
        lines += _rows("source", [name, *(f"  {each}" for each in parts)])
    for operator in shown["state"]:
        lines += _rows("state", _operator(operator, shown["provider"]))
    return "\n".join(lines)


def verification(path: str, result: Verification) -> str:
    """The output of `verify`."""
    lines = [f"{path}: {'sound' if result.sound else 'damaged'}"]
    lines += [f"  {each.file} {each.problem}" for each in result.problems]
    if result.sound:
        lines.append(f"  {result.restart}")
    else:
        lines.append(
            "  a restart does not start the query, and loses or repeats no row; the other queries run"
        )
        lines.append(f"  if it were sound: {result.restart}")
    return "\n".join(lines)


def copy(shown: Mapping[str, Any]) -> str:
    """The output of `fork` and `rewind`."""
    lines = [f"{shown['to']} continues after batch {shown['batch']} of {shown['from']}"]
    if shown["repeated"]:
        lines.append(f"the input of {shown['repeated']} is read again, in new batches:")
        lines += [
            f"  {line}"
            for line in shown["sinks"] or ["to show the effect on the sinks, give the document with -f"]
        ]
    lines += _unsure(shown)
    if shown["forked"]:
        lines.append("if the old query continues too, give the two queries different sinks")
    elif shown["owner"]:
        lines.append(f"stop the old query first: its last owner is {shown['owner']}")
    return "\n".join([*lines, *_start(shown["to"])])


def repartitioned(shown: Mapping[str, Any]) -> str:
    """The output of `repartition`."""
    lines = [
        f"{shown['to']} continues after batch {shown['batch']} of {shown['from']}",
        f"its state has {shown['partitions']} partitions instead of {shown['before']}",
        *_unsure(shown),
    ]
    if shown["owner"]:
        lines.append(f"stop the old query first: its last owner is {shown['owner']}")
    partitions = f", and in the query state.partitions: {shown['partitions']}"
    return "\n".join([*lines, *(f"{line}{partitions}" for line in _start(shown["to"]))])


def _start(to: str) -> list[str]:
    """The fields with which a query starts on a copy; none for a folder that is not called like a generation."""
    location, _, place = to.rpartition("/")
    location, _, query = location.rpartition("/")
    if not place.isdecimal() or not location:
        return []
    checkpoint = f"{{id: {query}, generation: {int(place)}}}"
    return [
        f"to start on it, set checkpoints.location: {location}, and in the query checkpoint: {checkpoint}"
    ]


def _unsure(shown: Mapping[str, Any]) -> list[str]:
    return [
        f"the topic {topic!r} may have been created again since batch {shown['batch']}; the start treats it as created again"
        for topic in shown["unsureTopics"]
    ]


def removal(shown: Mapping[str, Any]) -> str:
    """The output of `rm`."""
    verb = "removed" if shown["removed"] else "would remove"
    lines = [f"{verb} {path}" for path in shown["paths"]]
    lines.append(f"{verb} {shown['files']} files, {shown['bytes']} bytes")
    if not shown["removed"]:
        lines.append("nothing is removed without --yes")
    return "\n".join(lines)


def _row(shown: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        shown["query"],
        _or_dash(shown["generation"]),
        _or_dash(shown["committed"]),
        _or_dash(shown["pending"]),
        _age(shown["changedAt"]),
        times.size(shown["bytes"]),
        _cut(", ".join(shown["operators"]) or "-", 20),
        _cut(_owner_cell(shown["owner"]), 26),
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


def _age(changed_at: str | None) -> str:
    if changed_at is None:
        return "-"
    return times.age((datetime.now(UTC) - datetime.fromisoformat(changed_at)).total_seconds())


def _owner_cell(owner: Mapping[str, Any] | None) -> str:
    if owner is None:
        return "-"
    if "problem" in owner:
        return "unreadable"
    return f"{'runs here: ' if owner['runsHere'] else ''}{owner['pipeline']}"


def _owner_line(owner: Mapping[str, Any] | None) -> str:
    if owner is None:
        return "none: no driver has started on it"
    if "problem" in owner:
        return str(owner["problem"])
    return f"{owner['description']}{'; it runs on this machine' if owner['runsHere'] else ''}"


def _committed(shown: Mapping[str, Any]) -> str:
    number = "none" if shown["committed"] is None else f"batch {shown['committed']}, at {shown['changedAt']}"
    return number if shown["pending"] is None else f"{number}; batch {shown['pending']} is pending"


def _back(batches: Sequence[Mapping[str, Any]]) -> list[str]:
    if not batches:
        return ["no batch: its plan or its state is gone"]
    numbers = ranges(each["batch"] for each in batches)
    return [f"batches {numbers}, planned from {batches[0]['plannedAt']} to {batches[-1]['plannedAt']}"]


def _offset(offset: Any, pending: Any) -> Iterator[str]:
    """The lines of a source: for Kafka one line for each topic, with all partitions."""
    if isinstance(offset, dict) and offset and all(isinstance(each, dict) for each in offset.values()):
        for topic, partitions in offset.items():
            ends = ", ".join(f"{number}: {end}" for number, end in partitions.items())
            yield f"{topic}  {ends}"
    else:
        yield _plain(offset)
    if pending is not None:
        yield f"pending: {_plain(pending)}"


def _backlog(known: Mapping[str, Any] | None) -> Iterator[str]:
    """The lines about the ends of a source's topics; none if nobody asked for them."""
    if known is None:
        return
    for topic, partitions in known["topics"].items():
        yield f"end of {topic}  {', '.join(f'{number}: {end}' for number, end in partitions.items())}"
    yield f"{known['unread']:,} records not read yet; Kafka keeps {known['retained']:,}"
    if known["expired"]:
        yield f"{known['expired']:,} offsets have expired before they were read"


def _plain(offset: Any) -> str:
    if isinstance(offset, dict):
        return ", ".join(f"{name}: {value}" for name, value in offset.items())
    return str(offset)


def _operator(operator: Mapping[str, Any], provider: str | None) -> Iterator[str]:
    yield f"{operator['operator']} {operator['name']}{f', {provider}' if provider else ''}"
    for store in operator["stores"]:
        held = ranges(store["versions"]) or "none"
        yield f"  {store['name']}: {store['partitions']} partitions, {times.size(store['bytes'])}, versions {held}"
        for pair in store["columns"]:
            yield f"    key {pair['key']}"
            yield f"    value {pair['value']}"


def _rows(label: str, lines: Iterable[str]) -> list[str]:
    """Lines with a label before the first one; long lines wrap."""
    wrapped = [
        part
        for line in lines
        for part in textwrap.wrap(
            line,
            WIDTH - _LABEL - 2,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            drop_whitespace=True,
            break_long_words=False,
        )
    ]
    return [f"  {label if index == 0 else '':{_LABEL}}{line}" for index, line in enumerate(wrapped)]
