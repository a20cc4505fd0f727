"""The meaning of a document as text for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final


WIDTH: Final = 110
_LABEL: Final = 13
"""Width of the labels on the left."""


def text(meaning: Mapping[str, Any]) -> str:
    """The output of `mainstem explain` for a meaning."""
    count = len(meaning["queries"])
    title = f"{meaning['pipeline']}: {count} {'query' if count == 1 else 'queries'}, time zone {meaning['timeZone']}"
    parts = [
        title,
        *("\n".join(_query(query)) for query in meaning["queries"]),
        "\n".join(_defaults(meaning["defaults"])),
        *(f"{name}: Spark's plans\n{plan}" for name, plan in meaning.get("plans", {}).items()),
    ]
    return "\n\n".join(part for part in parts if part)


def _query(query: Mapping[str, Any]) -> Iterator[str]:
    suspended = ", suspended" if query["suspended"] else ""
    yield f"{query['name']}: {query['from']}, {query['outputMode']} mode{suspended}"
    yield from _rows("reads", (line for source in query["reads"] for line in _read(source)))
    yield from _rows(
        "starts",
        (f"after {each['query']} has ended, which writes {each['source']}" for each in query["waitsFor"]),
    )
    yield from _rows("plan", [query["plan"]["kind"], *query["plan"]["steps"]])
    yield from _rows("state", _state(query))
    yield from _rows("writes", (line for sink in query["sinks"] for line in _sink(sink)))
    yield from _rows("trigger", _triggers(query))
    yield from _rows(
        "checkpoint",
        [
            query["checkpoint"]["path"],
            *(f"the first batch fixes {setting}" for setting in query["checkpoint"]["fixedByFirstBatch"]),
            *_on_change(query["checkpoint"]["onChange"]),
        ],
    )
    pool = query["pool"]
    yield from _rows("pool", [f"{pool['name']}, weight {pool['weight']}, at least {pool['minShare']} cores"])


def _on_change(choice: str) -> Iterator[str]:
    if choice == "newGeneration":
        yield "a change that does not fit starts the next generation"
    elif choice == "keep":
        yield "a change that does not fit continues all the same"


def _read(source: Mapping[str, Any]) -> Iterator[str]:
    name, relation = source["occurrence"], source["relation"]
    origin = f" (of {relation})" if name != relation else ""
    yield f"{name}{origin}: {source['kind']}{_settings(source['settings'])}"
    if "promise" in source:
        yield f"  {source['promise']}"


def _sink(sink: Mapping[str, Any]) -> Iterator[str]:
    yield f"{sink['name']}: {sink['kind']}{_settings(sink['settings'])}"
    yield f"  {sink['promise']}"


def _state(query: Mapping[str, Any]) -> Iterator[str]:
    state = query["state"]
    if state is None:
        yield "only Spark knows" if query["plan"]["kind"] == "unknown" else "none"
        return
    yield "; ".join(state["operators"])
    yield f"{state['partitions']} partitions; {state['store']}"
    for watermark in state["watermarks"]:
        yield f"watermark {watermark}"
    for warning in state["warnings"]:
        yield f"! {warning}"


def _triggers(query: Mapping[str, Any]) -> Iterator[str]:
    interval = f" ({query['interval']})" if query["interval"] else ""
    others = [
        trigger["trigger"]
        for trigger in query["triggers"]
        if trigger["eligible"] and trigger["trigger"] != query["trigger"]
    ]
    yield f"{query['trigger']}{interval}; also possible: {_listed(others)}"
    for trigger in query["triggers"]:
        if conflicts := [obstacle["conflict"] for obstacle in trigger["obstacles"]]:
            yield f"not {trigger['trigger']}: {'; '.join(conflicts)}"


def _defaults(defaults: Iterable[Mapping[str, str]]) -> Iterator[str]:
    yield "Settings that differ from Spark's defaults [the field of the document that changes the value]"
    for default in defaults:
        change = f" [{default['change']}]" if default["change"] else ""
        yield f"  {default['setting']}"
        yield from _wrapped(
            f"{default['value']} instead of {default['spark']}: {default['why']}{change}", " " * 4
        )


def _rows(label: str, lines: Iterable[str]) -> Iterator[str]:
    first = f"  {label}".ljust(_LABEL)
    for line in lines:
        yield from _wrapped(line, first)
        first = " " * _LABEL


def _wrapped(line: str, first: str) -> list[str]:
    below = " " * (len(first) + 2)
    return textwrap.wrap(
        line,
        WIDTH,
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _settings(settings: Mapping[str, Any]) -> str:
    return "".join(f", {key} {_value(value)}" for key, value in settings.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    return (
        ", ".join(map(_value, value))
        if isinstance(value, list)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _listed(words: list[str]) -> str:
    return ", ".join(words) if words else "none"
