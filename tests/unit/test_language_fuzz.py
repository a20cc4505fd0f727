"""Whatever is fed in, the answer is a document or `SpecInvalid` in our own words: never another exception."""

import copy
import json
import re
from typing import Any

import yaml
from documents.bad import BASE
from harness.documents import pipeline_head
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.loading.shape_validation import shape_problems
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.yaml.yamltext import Path, YamlText, parse


SOUND = parse(BASE)[0].data
FOREIGN = re.compile(
    r"Input should|Value error|Assertion failed|Invalid JSON|valid dictionary|pydantic|\bNone\b|Traceback"
)
"""Words of pydantic or Python that no user should read."""
LENIENT = settings(max_examples=60, suppress_health_check=list(HealthCheck))


def foreign(message: str, written: str) -> set[str]:
    """Such words of a message that the user did not write: what was written may be quoted."""
    return set(FOREIGN.findall(message)) - set(FOREIGN.findall(written))


def check_text(text: str) -> None:
    try:
        documents = read_text(text, "f", {"lake": "/lake"} if "lake" in text else None)
    except SpecInvalid as refusal:
        invalid = refusal
    else:
        assert all(warning.warning for document in documents for warning in document.warnings)
        return
    assert invalid.problems
    assert list(invalid.problems) == sorted(invalid.problems)
    for problem in invalid.problems:
        assert 1 <= problem.line <= max(1, len(text.splitlines()))
        assert problem.column >= 1
        assert problem.message
        assert "\n" not in problem.render("f")
        assert not foreign(problem.message, text), problem


def places(value: Any, path: Path = ()) -> list[Path]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path, *(place for key, child in children for place in places(child, (*path, key)))]


PLACES = [path for path in places(SOUND) if path]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        [
            "",
            "${lake}",
            "${",
            "$${",
            "departures",
            "archive",
            "1 day",
            "s3a://",
            "s3://b/c",
            "file:/x",
            "SELECT 1; SELECT 2",
            "SELECT * FROM parity",
            "FROM ticks |> AGGREGATE count(*)",
            "ORDER BY",
            "deadLetter",
            "complete",
            "\x00",
            "a" * 20_000,
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "kafka", "console", "path", "x", "static", "sql", "${lake}"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
PIECES = st.sampled_from(PLACES)


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    data = copy.deepcopy(SOUND)
    for _ in range(draw(st.integers(1, 4))):
        path = draw(PIECES)
        try:
            place: Any = data
            for piece in path[:-1]:
                place = place[piece]
            act = draw(st.sampled_from(["drop", "junk", "copy", "graft"]))
            if act == "drop":
                del place[path[-1]]
            elif act == "junk":
                place[path[-1]] = draw(JUNK)
            elif act == "copy" and isinstance(place, list):
                place.append(copy.deepcopy(place[path[-1]]))
            else:
                graft: Any = SOUND
                for piece in draw(PIECES):
                    graft = graft[piece]
                place[path[-1]] = copy.deepcopy(graft)
        except (KeyError, IndexError, TypeError):
            continue
    return data


@LENIENT
@given(mutants())
def test_mutated_yaml_is_read_or_rejected_in_our_own_words(data: Any) -> None:
    check_text(yaml.dump(data, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))


@LENIENT
@given(mutants())
def test_mutated_json_is_read_or_rejected_in_our_own_words(data: Any) -> None:
    check_text(json.dumps(data))


@LENIENT
@given(mutants())
def test_mutated_data_is_read_or_rejected_in_our_own_words(data: Any) -> None:
    model, problems = shape_problems(YamlText(data), StreamingPipeline)
    assert (model is None) == bool(problems)
    for problem in problems:
        assert not foreign(problem.message, json.dumps(data, default=str)), problem


@LENIENT
@given(JUNK)
def test_any_value_for_a_document_is_read_or_rejected(data: Any) -> None:
    check_text(json.dumps(data))
    check_text(
        json.dumps(
            {
                **pipeline_head("a"),
                "spec": data,
            }
        )
    )


@LENIENT
@given(st.text(max_size=200))
@example("None")
def test_any_text_is_read_or_rejected(text: str) -> None:
    check_text(text)


TOKENS = [
    "kind: StreamingPipeline\n",
    "spec:\n",
    "  ",
    "- ",
    ": ",
    "\n",
    "a",
    "&x ",
    "*x",
    "<<: ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "'",
    '"',
    "|\n",
    ">-\n",
    "#",
    "---\n",
    "...\n",
    "!!str ",
    "? ",
    "%YAML 1.1\n",
    "\t",
    "~",
    "1e999",
    "0",
]


@LENIENT
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join))
def test_any_sequence_of_tokens_is_read_or_rejected(text: str) -> None:
    check_text(text)


@LENIENT
@given(
    st.integers(0, len(BASE)),
    st.integers(0, 30),
    st.sampled_from(
        ["", "\n", "'", '"', "{", "]", "\t", "*x ", "&x ", "- ", ": ", "${", "\r", "\u2028", "\x85"]
    ),
)
def test_any_typing_error_is_read_or_rejected(at: int, length: int, put: str) -> None:
    check_text(BASE[:at] + put + BASE[at + length :])
