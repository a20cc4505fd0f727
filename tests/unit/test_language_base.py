"""Durations, parameters, and models that survive being written and read."""

import json
import re
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
import yaml
from annotated_types import Ge, Le, MaxLen, MinLen
from documents import VALID
from documents.bad import BASE
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mainstem.language.base import DURATION_PATTERN, Model, interval, pattern, seconds
from mainstem.language.document import read_text
from mainstem.language.loading.parameters import written_offset
from mainstem.language.loading.shape_validation import shape_problems
from mainstem.language.model.deployment import Quantity, amount
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.yaml.yamltext import parse
from pydantic import StringConstraints
from pydantic.fields import FieldInfo


UNITS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


@given(st.from_regex(DURATION_PATTERN, fullmatch=True).filter(lambda text: not text.endswith("\n")))
def test_seconds_and_spark_interval_agree(duration: str) -> None:
    number, unit = interval(duration).split(" ")
    assert unit.removesuffix("s") in UNITS
    assert seconds(duration) == pytest.approx(int(number) * UNITS[unit.removesuffix("s")])


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("30s", 30, "30 seconds"),
        ("30 seconds", 30, "30 seconds"),
        ("1 second", 1, "1 second"),
        ("250ms", 0.25, "250 milliseconds"),
        ("5m", 300, "5 minutes"),
        ("5min", 300, "5 minutes"),
        ("2 h", 7200, "2 hours"),
        ("1d", 86400, "1 days"),
        ("1 week", 604800, "1 week"),
        ("0 seconds", 0, "0 seconds"),
    ],
)
def test_valid_durations_are_read(text: str, value: float, words: str) -> None:
    assert re.fullmatch(DURATION_PATTERN, text)
    assert seconds(text) == pytest.approx(value)
    assert timedelta(seconds=seconds(text)) == timedelta(seconds=value)
    assert interval(text) == words


REFUSED = [
    "",
    "5",
    "s",
    "-5s",
    "+5s",
    "1.5s",
    "5 S",
    "5  s",
    " 5s",
    "5s ",
    "5s\n",
    "5\ts",
    "1m30s",
    "1 day 2 hours",
    "5 month",
    "5 years",
    "5 mins",
    "5 foo",
    "\u0661s",
    "1234567890s",
    "PT5S",
    "${x}",
]


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_durations_are_rejected(text: str) -> None:
    data = parse(BASE)[0].data
    data["spec"]["drain"]["timeout"] = text
    model, problems = shape_problems(parse(yaml.safe_dump(data))[0], StreamingPipeline)
    assert model is None
    assert [problem.path for problem in problems] == ["spec.drain.timeout"]
    assert problems[0].reason == "InvalidDuration"


@pytest.mark.parametrize("text", ["", "5", "5 s s", "-1s"])
def test_an_invalid_duration_has_no_number_of_seconds(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a", "a"),
        ("${p}", "<v>"),
        ("x${p}y${q}z", "x<v>yz"),
        ("$${p}", "${p}"),
        ("$$${p}", "$${p}"),
        ("$p {p} $", "$p {p} $"),
        ("${p}$${p}${p}", "<v>${p}<v>"),
        ("${evil}", "${p}"),
    ],
)
def test_parameters_are_substituted(text: str, filled: str) -> None:
    data = parse(BASE)[0].data
    data["spec"]["parameters"] += [
        {"name": "p", "value": "<v>"},
        {"name": "q", "value": ""},
        {"name": "evil", "value": "${p}"},
    ]
    data["spec"]["spark"]["conf"] = {"spark.test": text}
    (document,) = read_text(yaml.safe_dump(data))
    assert document.pipeline.spec.spark.conf == {"spark.test": filled}
    assert document.written.spec.spark.conf == {"spark.test": text}


def test_an_override_wins_over_the_default() -> None:
    (document,) = read_text(BASE, overrides={"lake": "/tmp/lake"})
    sink = document.pipeline.spec.queries[0].to[0]
    assert sink.parquet is not None
    assert sink.parquet.path == "/tmp/lake/archive"


PIECES = st.lists(st.sampled_from(["${p}", "${long}", "${empty}", "$${", "a", "b ", "\n", "$"]), max_size=8)


@settings(max_examples=30)
@given(PIECES)
def test_an_offset_in_the_substituted_text_maps_to_the_written_text(pieces: list[str]) -> None:
    values = {"p": "P", "long": "LONGER THAN ITS NAME", "empty": ""}
    text = "".join(pieces)
    data = parse(BASE)[0].data
    data["spec"]["parameters"] += [{"name": name, "value": value} for name, value in values.items()]
    data["spec"]["spark"]["conf"] = {"spark.test": text}
    (document,) = read_text(yaml.safe_dump(data))
    filled = document.pipeline.spec.spark.conf["spark.test"]
    places = [written_offset(text, values, offset) for offset in range(len(filled))]
    assert places == sorted(places)
    for offset, letter in enumerate(filled):
        if letter in "ab\n":
            assert text[places[offset]] == letter
        if letter.isupper():
            assert text[places[offset] :].startswith(("${p}", "${long}"))
    assert written_offset(text, values, len(filled)) <= len(text)


def values(field: FieldInfo) -> st.SearchStrategy[Any]:
    return value(field.annotation, list(field.metadata))


def value(annotation: Any, limits: list[Any]) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return value(arguments[0], [*arguments[1:], *limits])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(
            value(arguments[0], []),
            min_size=limit(limits, "min_length", 0),
            max_size=min(limit(limits, "max_length", 2), 2),
            unique_by=lambda item: item.get("name") if isinstance(item, dict) else item,
        )
    if origin is dict:
        return st.dictionaries(
            value(arguments[0], []),
            value(arguments[1], []),
            min_size=limit(limits, "min_length", 0),
            max_size=2,
        )
    if arguments:  # a union with None, which is the field left out
        return value(arguments[0], limits)
    if annotation is Any:
        return st.booleans() | st.integers(-(2**53), 2**53) | strings([])
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(limit(limits, "ge", 0), limit(limits, "le", 100))
    if annotation is str:
        return strings(limits)
    return models(annotation)


def limit(limits: list[Any], name: str, default: Any) -> Any:
    plain = [item for held in limits for item in (held.metadata if isinstance(held, FieldInfo) else [held])]
    bounds = [
        getattr(item, name)
        for item in plain
        if isinstance(item, (Ge, Le, MinLen, MaxLen, StringConstraints))
        and getattr(item, name, None) is not None
    ]
    return bounds[0] if bounds else default


def strings(limits: list[Any]) -> st.SearchStrategy[str]:
    if any("_time_zone" in repr(item) for item in limits):
        return st.sampled_from(["UTC", "Europe/Zurich"])
    if any("_cron" in repr(item) for item in limits):
        return st.sampled_from(["0 3 * * *", "*/15 8-18 * * MON-FRI", "0 0 L 2,12 *"])
    if pattern := limit(limits, "pattern", None):
        anchored = re.sub(r"\$(?=$|[|)])", r"\\Z", pattern)  # not the `$` of a class of characters
        texts = st.from_regex(re.compile(anchored, re.ASCII), fullmatch=True)
        return texts.filter(lambda text: len(text) <= limit(limits, "max_length", 1024))
    letters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")
    return st.text(letters, min_size=limit(limits, "min_length", 0), max_size=20)


@st.composite
def models(draw: st.DrawFn, model: type[Model]) -> dict[str, Any]:
    choice = draw(st.sampled_from(model.one_of)) if model.one_of else None
    data = {}
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in model.one_of and key != choice:
            continue
        if key != choice and not field.is_required() and draw(st.booleans()):
            continue
        fields = draw(values(field))
        data[key] = fields
    return data


class _Quoting(yaml.SafeDumper):
    """PyYAML leaves texts bare that kubectl reads as something else: `y`, `08`, `0E0`."""


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(models(StreamingPipeline))
def test_a_written_document_is_read_back_equal(data: dict[str, Any]) -> None:
    written = StreamingPipeline.model_validate_json(json.dumps(data), strict=True)
    dumped = written.model_dump(by_alias=True, mode="json", exclude_none=True)
    (part,) = parse(yaml.dump(dumped, Dumper=_Quoting))
    read, problems = shape_problems(part, StreamingPipeline)
    assert problems == []
    assert read == written
    assert read is not None
    assert read.model_dump(by_alias=True, mode="json", exclude_none=True) == dumped


def test_pod_templates_are_not_substituted() -> None:
    (document,) = read_text(VALID["executors-templates"])
    driver = document.pipeline.spec.driver.template["spec"]["containers"]
    assert driver[0]["env"][1]["value"] == "$(HOME)/${not_a_parameter}"
    assert driver[1]["args"][2] == "exec proxy --name=${HOSTNAME} --port=$(PORT)"
    (document,) = read_text(VALID["scheduled"], overrides={"release": "2"})
    assert document.pipeline.spec.image == "registry.example/mainstem:2"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("0.5", 0.5),
        ("500m", 0.5),
        ("1k", 1000),
        ("2Gi", 2**31),
        ("1.5Ki", 1536),
        ("1P", 10**15),
        ("1Pi", 2**50),
    ],
)
def test_quantities_are_read(text: str, value: float) -> None:
    assert re.fullmatch(pattern(Quantity), text)
    assert amount(text) == pytest.approx(value)


def test_a_bare_whole_number_is_a_quantity() -> None:
    (document,) = read_text(VALID["small-driver"])
    assert document.pipeline.spec.driver.resources.limits["cpu"] == "2"
