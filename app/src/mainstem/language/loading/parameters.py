"""`${name}` in strings of the document; no other templating, and none in pod templates."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import did_you_mean, shape_problems
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.yaml.yamltext import Path, YamlText, render_path


_LITERAL: Final[tuple[Path, ...]] = (
    ("spec", "parameters"),
    # Kubernetes' own text: `${x}` in a sidecar's script is the shell's, `$(X)` is Kubernetes'.
    ("spec", "driver", "template"),
    ("spec", "executors", "template"),
)
"""Where nothing is filled in."""
MAX_FILLED_SIZE: Final = 4 * 1024 * 1024
"""Characters, about twice what the API server takes for one resource: a parameter may stand in many places."""
_PLACE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}|(\$\{)")
"""A literal `${`, a parameter, or one whose brace is never closed."""


def substitute(
    written: StreamingPipeline, part: YamlText, overrides: Mapping[str, str]
) -> tuple[StreamingPipeline | None, list[Problem]]:
    """The pipeline with every `${name}` filled in, or what stands in the way.

    `$${` is a literal `${`. The shape is checked again afterwards, because a value can be empty or too long.
    """
    problems = list(_unknown_overrides(written, overrides, part))
    values = values_of(written, overrides)
    size = _filled_size(part.data["spec"], ("spec",), values)
    if size > MAX_FILLED_SIZE:
        message = (
            f"with its parameters filled in the document's texts have {size} characters; "
            f"at most {MAX_FILLED_SIZE} are allowed"
        )
        line, column = part.where(("spec", "parameters"))
        return None, [Problem(line, column, "spec.parameters", message, "DocumentTooComplex")]
    data = part.data | {"spec": _fill(part.data["spec"], ("spec",), values, part, problems.append)}
    if problems:
        return None, problems
    return shape_problems(replace(part, data=data), StreamingPipeline)


def values_of(written: StreamingPipeline, overrides: Mapping[str, str]) -> dict[str, str]:
    """Parameter -> its value: the document's, or the one given at start."""
    return {parameter.name: parameter.value for parameter in written.spec.parameters} | dict(overrides)


def written_offset(text: str, values: Mapping[str, str], offset: int) -> int:
    """The offset in a text as it was written, for one in the same text with its parameters filled in."""
    grown = 0
    for match in _PLACE.finditer(text):
        length = len(_filled(match, values))
        if offset < match.start() + grown + length:
            return min(offset - grown, match.start())
        grown += length - len(match[0])
    return offset - grown


def _filled_size(value: Any, path: Path, values: Mapping[str, str]) -> int:
    """Characters of all texts below a path that hold parameters, once these are filled in."""
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
    value: Any, path: Path, values: Mapping[str, str], part: YamlText, tell: Callable[[Problem], None]
) -> Any:
    if path in _LITERAL:
        return value
    if isinstance(value, dict):
        for key in value:
            if "${" in key:
                tell(_problem(part, (*path, key), "parameters stand in values, never in keys", key=True))
        return {key: _fill(child, (*path, key), values, part, tell) for key, child in value.items()}
    if isinstance(value, list):
        return [_fill(child, (*path, index), values, part, tell) for index, child in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        if match[2]:
            tell(_problem(part, path, "${ is never closed; write $${ for a literal ${", at=match))
        elif name is not None and name not in values:
            message = f"unknown parameter ${{{name}}}{did_you_mean(name, list(values)) or _declared(values)}"
            tell(_problem(part, path, message, at=match))
        return _filled(match, values)

    return _PLACE.sub(replacement, value)


def _filled(match: re.Match[str], values: Mapping[str, str]) -> str:
    return "${" if match[1] is None else values.get(match[1], "")


def _declared(values: Mapping[str, str]) -> str:
    return f"; there are {', '.join(values)}" if values else "; spec.parameters declares none"


def _problem(
    part: YamlText, path: Path, message: str, *, key: bool = False, at: re.Match[str] | None = None
) -> Problem:
    line, column = part.where_in(path, at.string, at.start()) if at else part.where(path, key=key)
    return Problem(line, column, render_path(path), message, "UnknownParameter")


def _unknown_overrides(
    written: StreamingPipeline, overrides: Mapping[str, str], part: YamlText
) -> Iterator[Problem]:
    names = values_of(written, {})
    for name in overrides:
        if name not in names:
            hint = did_you_mean(name, list(names)) or _declared(names)
            message = f"--set {name}: the document has no such parameter{hint}"
            yield _problem(part, ("spec", "parameters"), message)
