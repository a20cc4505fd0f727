"""`${name}` in strings of the document; no other templating."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem.errors import Problem
from mainstem.spec.messages import did_you_mean, shape_problems
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.yamltext import Path, Text, render_path


_PLACE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}")


def substitute(
    written: StreamingPipeline, part: Text, overrides: Mapping[str, str]
) -> tuple[StreamingPipeline | None, list[Problem]]:
    """The pipeline with every `${name}` filled in, or what stands in the way.

    `$${` is a literal `${`. The shape is checked again afterwards, because a value can be empty or too long.
    """
    values = {parameter.name: parameter.value for parameter in written.spec.parameters}
    problems = list(_unknown_overrides(values, overrides, part))
    values |= overrides
    data = part.data | {"spec": _fill(part.data["spec"], ("spec",), values, part, problems.append)}
    if problems:
        return None, problems
    return shape_problems(replace(part, data=data))


def _fill(
    value: Any, path: Path, values: Mapping[str, str], part: Text, tell: Callable[[Problem], None]
) -> Any:
    if path == ("spec", "parameters"):
        return value
    if isinstance(value, dict):
        return {key: _fill(child, (*path, key), values, part, tell) for key, child in value.items()}
    if isinstance(value, list):
        return [_fill(child, (*path, index), values, part, tell) for index, child in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def one(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "${"
        if name not in values:
            line, column = part.where(path)
            message = f"unknown parameter ${{{name}}}{did_you_mean(name, list(values))}"
            tell(Problem(line, column, render_path(path), message, "UnknownParameter"))
        return values.get(name, "")

    return _PLACE.sub(one, value)


def _unknown_overrides(
    values: Mapping[str, str], overrides: Mapping[str, str], part: Text
) -> Iterator[Problem]:
    path: Path = ("spec", "parameters")
    line, column = part.where(path)
    for name in overrides:
        if name not in values:
            message = f"--set {name}: the document has no such parameter{did_you_mean(name, list(values))}"
            yield Problem(line, column, render_path(path), message, "UnknownParameter")
