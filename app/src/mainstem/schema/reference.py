"""Generates the reference page: every object of a document with its fields, the rules, the features and the status."""

import json
from collections.abc import Callable, Iterator
from inspect import cleandoc
from typing import Any, Final

from mainstem.language.base import (
    ByteSize,
    Duration,
    Identifier,
    JavaClass,
    Label,
    ParameterName,
    PythonObject,
    Version,
)
from mainstem.language.model.connections import Bucket, SecretKey
from mainstem.language.model.connectors.custom import ConnectorName
from mainstem.language.model.deployment import Cron, Memory, ObjectName, Quantity
from mainstem.language.model.packages import Coordinate
from mainstem.language.model.pipeline import PipelineName, RestartNonce, StreamingPipeline
from mainstem.language.model.status.pipeline_status import Status
from mainstem.language.rules.registry import MEANING, NAMING
from mainstem.schema.features import FEATURES
from mainstem.schema.models import Schema, definitions, referred
from mainstem.schema.reason_tables import by_exit_code


_INTRO: Final = """\
# Reference of the document

The fields of a `StreamingPipeline`, with one section for each object in the order of a document. Further sections have the
rules between fields, Spark's [features](#features), the exit codes of [reasons](#reasons), and the [status](#status). Only
Mainstem writes the status. `make generate` writes this page from the models in `app/src/mainstem/language`; do not edit it. On a
cluster `kubectl explain streamingpipelines.spec --recursive` shows the same fields, and editors use
`k8s/streamingpipeline.schema.json`.

The page shows a default as a document would set it. A *required* field must be set. *one of* marks the alternatives of a
union: exactly one of them must be set. An unknown field is an error. `mainstem run` also checks the fields that only
matter on a cluster, from `suspend` to `executors`, and otherwise ignores them.
"""
_STRINGS: Final = {
    "name in SQL": (Identifier, "Lower case letters, digits and underscores; starts with a letter."),
    "label": (Label, "A DNS label: lower case letters, digits and hyphens; starts with a letter."),
    "pipeline name": (
        PipelineName,
        "A DNS label, short enough for the names of the pipeline's objects.",
    ),
    "parameter name": (ParameterName, "Letters, digits and underscores."),
    "name in Kubernetes": (
        ObjectName,
        "Lower case letters, digits, hyphens and dots; starts and ends with a letter or digit.",
    ),
    "quantity": (
        Quantity,
        "An amount in the form of Kubernetes: `500m` is half a core, `2Gi` is 2147483648 bytes. A whole number needs no quotes.",
    ),
    "heap": (Memory, "A size in the form of Java: `512m` is 536870912 bytes, `2g` is 2147483648 bytes."),
    "size": (
        ByteSize,
        "A size in the form of Spark: `512m` is 536870912 bytes. A number of bytes needs no quotes.",
    ),
    "nonce": (RestartNonce, "A number or a text such as a time. A number needs no quotes."),
    "version": (Version, "A version of a Delta table. A number needs no quotes."),
    "cron": (
        Cron,
        "Five fields, as in crontab and Kubernetes' CronJob; also `MON-FRI`, `*/15`, `1,15`, and `L` for the last day.",
    ),
    "Python reference": (
        PythonObject,
        "`module:name`, as in `shop.prices:rounded`; the name may also have dots.",
    ),
    "Java class": (JavaClass, "A class with its package, as in `com.example.Soundex`."),
    "coordinate": (Coordinate, "An artifact of a Maven repository: `group:artifact:version`."),
    "format": (ConnectorName, "The name of a connector in Spark: its short name, its class or its package."),
    "key": (SecretKey, "A key of a Secret."),
    "bucket": (Bucket, "The name of a bucket, without `s3a://` and without a path."),
    "duration": (Duration, "`30 seconds`, `5 minutes`, `1 day`, or the short form: `30s`, `5m`, `1d`."),
}
"""Name of a kind of string on the page -> its type, and its description."""
_LARGE: Final = 2**31 - 1
"""The page leaves out larger limits, because they belong to the number format and not to the field."""
_STATUS: Final = """\
`kubectl get streamingpipelines` shows a summary, `kubectl get sp NAME -o yaml` the whole status. Start with the condition
`Ready`: the [runbook](runbook.md) explains its `reason`. A field without a value is absent.
"""


def reference() -> str:
    """The page, in Markdown."""
    models = definitions()
    places: dict[str, list[str]] = {}
    _walk(StreamingPipeline.__name__, "", models, places)
    sections = [_section(name, models[name], at) for name, at in places.items()]
    return "\n".join([_INTRO, *sections, _strings(), _rules(), _features(), _reasons(), *_status()])


def _walk(name: str, path: str, models: dict[str, Schema], places: dict[str, list[str]]) -> None:
    """Collect every model in the order of the document, with all its paths."""
    places.setdefault(name, []).append(path)
    for field, node in models[name].get("properties", {}).items():
        below, suffix = (node["items"], "[]") if "items" in node else (node, "")
        if isinstance(values := node.get("additionalProperties"), dict):
            below, suffix = values, ".*"
        if target := referred(below):
            _walk(target, f"{path}.{field}{suffix}".lstrip("."), models, places)


def _section(name: str, schema: Schema, places: list[str]) -> str:
    at = ", ".join(f"`{place}`" for place in places if place)
    paths = f"At {at}.\n\n" if at else ""
    lines = ["| field | type | default | |", "|---|---|---|---|"]
    lines += [_row(field, node, schema) for field, node in schema["properties"].items()]
    return f"## {name}\n\n{paths}{schema['description']}\n\n" + "\n".join(lines) + "\n"


def _status() -> Iterator[str]:
    models = definitions(Status)
    places: dict[str, list[str]] = {}
    _walk(Status.__name__, "status", models, places)
    for name, at in places.items():
        schema = models[name]
        lines = ["| field | type | |", "|---|---|---|"]
        lines += [
            _cells(f"`{field}`", _type(node, bounds=False), node["description"])
            for field, node in schema["properties"].items()
        ]
        about = f"{schema['description']}\n\n{_STATUS}" if name == Status.__name__ else schema["description"]
        yield f"## {name}\n\nAt `{'`, `'.join(at)}`.\n\n{about.rstrip()}\n\n" + "\n".join(lines) + "\n"


def _row(field: str, node: Schema, schema: Schema) -> str:
    if field in schema.get("x-one-of", ()):
        default = "*one of*"
    elif field in schema.get("required", ()):
        default = "*required*"
    else:
        default = f"`{_written(node['default'])}`" if "default" in node else ""
    return _cells(f"`{field}`", _type(node), default, node["description"])


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", " ") for cell in cells) + " |"


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in value.items()) + "}"
    return value if isinstance(value, str) else json.dumps(value)


def _type(node: Schema, *, bounds: bool = True) -> str:
    """The type in words, without the limits of entries in a list or map, because two limits in a row confuse."""
    if target := referred(node):
        return f"[{target}](#{target.lower()})"
    if "enum" in node:
        return ", ".join(f"`{_written(value)}`" for value in node["enum"])
    if "x-pod-template" in node:
        return "[pod template](https://kubernetes.io/docs/concepts/workloads/pods/#pod-templates)"
    return _WORDS.get(node["type"], _plain)(node, bounds)


def _list(node: Schema, bounds: bool) -> str:
    item = _type(node["items"], bounds=False)
    single = f"{item} or " if node.get("x-one-or-more") else ""
    return f"{single}list of {item}" + (_bounds(node, "Items") if bounds else "")


def _map(node: Schema, bounds: bool) -> str:
    values = _type(node["additionalProperties"], bounds=False)
    return f"map of {values}" + (_bounds(node, "Properties") if bounds else "")


def _string(node: Schema, bounds: bool) -> str:
    for name, (kind, _) in _STRINGS.items():
        if node.get("pattern") == _constraints(kind).pattern:
            return f"[{name}](#strings)"
    if node.get("format") == "date-time":
        return "time"
    return "string" + (f" (at most {node['maxLength']})" if bounds else "")


def _plain(node: Schema, bounds: bool) -> str:
    return str(node["type"]) + (_bounds(node, "imum") if bounds else "")


_WORDS: Final[dict[str, Callable[[Schema, bool], str]]] = {"array": _list, "object": _map, "string": _string}
"""Type of a schema -> function that writes the type for the page."""


def _bounds(node: Schema, suffix: str) -> str:
    least, most = node.get(f"min{suffix}"), node.get(f"max{suffix}")
    if most is None or most > _LARGE:
        return "" if least is None else f" (at least {least})"
    if least is None:
        return f" (at most {most})"
    return f" (exactly {most})" if least == most else f" ({least} to {most})"


def _strings() -> str:
    lines = ["| string | at most | pattern | |", "|---|---|---|---|"]
    for name, (kind, meaning) in _STRINGS.items():
        limits = _constraints(kind)
        pattern = limits.pattern.replace("|", r"\|")
        lines.append(f"| {name} | {limits.max_length} | `{pattern}` | {meaning} |")
    intro = "Only plain strings may contain `${parameter}`; the strings of this table and `timeZone` may not."
    return f"## Strings\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _constraints(kind: Any) -> Any:
    return kind.__metadata__[0]


def _rules() -> str:
    lines = [f"- {text}" for text in _summaries()]
    intro = "Mainstem checks the rules between fields before anything runs. Each error has its line and the correction."
    return f"## Rules\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _features() -> str:
    lines = ["| feature | where | restricted | proof |", "|---|---|---|---|"]
    for feature in FEATURES:
        where = "<br>".join(f"`{path}`" for path in feature.paths)
        lines.append(_cells(feature.name, where, feature.restricted, f"[{feature.scenario}](scenarios.md)"))
    intro = "The features of Structured Streaming, their fields below `spec`, and the scenario whose tests cover them."
    return f"## Features\n\n{intro}\n\n" + "\n".join(lines) + "\n"


def _reasons() -> str:
    intro = (
        "Exit codes of the command. A problem of a document, something that is missing before the first query runs, or a "
        "failed query ends it; a warning does not. The [runbook](runbook.md) explains each reason, and also those of "
        "conditions, of Spark and of Kubernetes."
    )
    return f"## Reasons\n\n{intro}\n\n{by_exit_code()}"


def _summaries() -> Iterator[str]:
    for rule in NAMING + MEANING:
        yield " ".join(cleandoc(rule.__doc__ or "").split("\n\n")[0].split())
