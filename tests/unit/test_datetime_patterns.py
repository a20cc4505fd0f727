"""Patterns of dates and times: what is refused, where, and what is advised. A Spark test holds them against Spark."""

import pytest
from mainstem.language.rules.connectors.datetime_patterns import faults


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "yyyy-MM-dd HH:mm:ss",
        "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
        "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]",
        "dd/MM/yy hh:mm a",
        "d MMM yyyy 'o''clock' ''",
        "D",
        "yyyy/DDD",
        "VV z O",
    ],
)
def test_valid_patterns_have_no_fault(pattern: str) -> None:
    assert faults(pattern, parsing=True) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("YYYY-MM-dd", [(0, "use y for the year")]),
        ("yyyy-MM-ddTHH:mm", [(10, "'T'")]),
        ("yyyy-MM-dd HH:mm:ssZZZZZZ", [(19, "at most 5")]),
        ("yyyyyyy", [(0, "7 times 'y'")]),
        ("HHH", [(0, "1 or 2")]),
        ("dd.MM.yyyy 'at", [(11, "not closed")]),
        ("yyyy]", [(4, "has no '[' before it")]),
        ("yyyy{MM}", [(4, "reserved"), (7, "reserved")]),
        ("E dd", [(0, "cannot read")]),
        ("ww uu", [(0, "weekofyear"), (3, "day of the week")]),
        ("yyyy-MM-dd HH:mm:ss.SSSSSSSSSS", [(20, "at most 9")]),
    ],
)
def test_invalid_patterns_are_rejected_with_their_position(
    pattern: str, expected: list[tuple[int, str]]
) -> None:
    problems = faults(pattern, parsing=True)
    assert [fault.offset for fault in problems] == [offset for offset, _ in expected]
    for fault, (_, message) in zip(problems, expected, strict=True):
        assert fault.certain
        assert message in fault.message


def test_letters_only_for_formatting_are_rejected_for_parsing() -> None:
    assert faults("E QQQ F", parsing=False) == []
    assert [fault.offset for fault in faults("E QQQ F", parsing=True)] == [0, 2, 6]


@pytest.mark.parametrize(
    ("pattern", "offset", "message"),
    [
        ("yyyy-MM-DD", 8, "use d for the day of the month"),
        ("yyyy-MM-dd hh:mm:ss", 11, "HH for 0 to 23"),
        ("KK:mm", 0, "HH for 0 to 23"),
    ],
)
def test_a_pattern_that_is_probably_a_mistake_is_a_warning(pattern: str, offset: int, message: str) -> None:
    [fault] = faults(pattern, parsing=True)
    assert not fault.certain
    assert fault.offset == offset
    assert message in fault.message
