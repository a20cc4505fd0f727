"""Fills in `${name}` in strings of the document, except in pod templates; there is no other templating."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import did_you_mean, shape_problems
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.yaml.yamltext import Path, YamlText, render_path


_LITERAL: Final[tuple[Path, ...]] = (
    ("spec", "parameters"),
    # In a pod template `${x}` belongs to the shell of a sidecar's script, and `$(X)` to Kubernetes.
    ("spec", "driver", "template"),
    ("spec", "executors", "template"),
)
"""Paths whose texts stay as written."""
MAX_FILLED_SIZE: Final = 4 * 1024 * 1024
"""Characters, about twice the size that the API server accepts for one resource: a parameter may occur many times."""
_PLACE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}|(\$\{)")
"""A literal `${`, a parameter, or a `${` without its closing brace."""


def substitute(
    written: StreamingPipeline, part: YamlText, overrides: Mapping[str, str]
) -> tuple[StreamingPipeline | None, list[Problem]]:
    """The pipeline with every `${name}` filled in, or None and the problems.

    `$${` is a literal `${`. The shape is checked again, because a value can be empty or too long.
    """
    problems = list(_unknown_overrides(written, overrides, part))
    values = values_of(written, overrides)
    size = _filled_size(part.data["spec"], ("spec",), values)
    if size > MAX_FILLED_SIZE:
        message = (
            f"with their parameters filled in the document's texts have {size} characters; "
            f"at most {MAX_FILLED_SIZE} are allowed"
        )
        line, column = part.where(("spec", "parameters"))
        return None, [Problem(line, column, "spec.parameters", message, reasons.DOCUMENT_TOO_COMPLEX)]
    data = part.data | {"spec": _fill(part.data["spec"], ("spec",), values, part, problems.append)}
    if problems:
        return None, problems
    return shape_problems(replace(part, data=data), StreamingPipeline)


def values_of(written: StreamingPipeline, overrides: Mapping[str, str]) -> dict[str, str]:
    """Parameter -> its value: an override, or else the document's value."""
    return {parameter.name: parameter.value for parameter in written.spec.parameters} | dict(overrides)


def written_offset(text: str, values: Mapping[str, str], offset: int) -> int:
    """The offset in the written text for an offset in the same text with its parameters filled in."""
    grown = 0
    for match in _PLACE.finditer(text):
        length = len(_filled(match, values))
        if offset < match.start() + grown + length:
            return min(offset - grown, match.start())
        grown += length - len(match[0])
    return offset - grown


def _filled_size(value: Any, path: Path, values: Mapping[str, str]) -> int:
    """The number of characters of all texts below a path that contain parameters, after these are filled in."""
    if path in _LITERAL:
        return 0
    if isinstance(value, dict):
        return sum(_filled_size(child, (*path, key), values) for key, child in value.items())
    if isinstance(value, list):
        return sum(_filled_size(child, (*path, index), values) for index, child in enumerate(value))
    if not isinstance(value, str) or "${" not in value:
        return 0
    return len(value) + sum(len(_filled(match, values)) - len(match[0]) for match in _PLACE.finditer(value))


def _fill(
    value: Any, path: Path, values: Mapping[str, str], part: YamlText, report: Callable[[Problem], None]
) -> Any:
    if path in _LITERAL:
        return value
    if isinstance(value, dict):
        for key in value:
            if "${" in key:
                message = "a key cannot contain a parameter; only values can"
                report(_problem(part, (*path, key), message, key=True))
        return {key: _fill(child, (*path, key), values, part, report) for key, child in value.items()}
    if isinstance(value, list):
        return [_fill(child, (*path, index), values, part, report) for index, child in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    reported: set[str] = set()  # once in each text: it may contain thousands

    def replacement(match: re.Match[str]) -> str:
        message = _unfillable(match, values) if match[0] not in reported else None
        if message is not None:
            reported.add(match[0])
            report(_problem(part, path, message, at=match))
        return _filled(match, values)

    return _PLACE.sub(replacement, value)


def _unfillable(match: re.Match[str], values: Mapping[str, str]) -> str | None:
    """What is wrong with a parameter in a text; None if nothing is."""
    name = match[1]
    if match[2]:
        return "${ has no closing brace; close it, or write $${ for a literal ${"
    if name is not None and name not in values:
        return f"unknown parameter ${{{name}}}{did_you_mean(name, list(values)) or _declared(values)}"
    return None


def _filled(match: re.Match[str], values: Mapping[str, str]) -> str:
    return "${" if match[1] is None else values.get(match[1], "")


def _declared(values: Mapping[str, str]) -> str:
    return (
        f"; the parameters are {', '.join(values)}" if values else "; spec.parameters declares no parameter"
    )


def _problem(
    part: YamlText, path: Path, message: str, *, key: bool = False, at: re.Match[str] | None = None
) -> Problem:
    line, column = part.where_in(path, at.string, at.start()) if at else part.where(path, key=key)
    return Problem(line, column, render_path(path), message, reasons.UNKNOWN_PARAMETER)


def _unknown_overrides(
    written: StreamingPipeline, overrides: Mapping[str, str], part: YamlText
) -> Iterator[Problem]:
    names = values_of(written, {})
    for name in overrides:
        if name not in names:
            hint = did_you_mean(name, list(names)) or _declared(names)
            message = f"--set {name}: the document has no parameter of this name{hint}"
            yield _problem(part, ("spec", "parameters"), message)
