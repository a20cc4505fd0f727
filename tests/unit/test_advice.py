"""What is advised where a record does not parse: not to leave out all of them."""

import pytest
from mainstem.build.decode import BAD_RECORD
from mainstem.run.current import advised
from mainstem.run.failures import Failure, of_text
from mainstem.run.querystatus import QueryStatus, SourceStatus
from mainstem.run.signs import BAD_RECORD_ADVICE, FIRST_RECORD_ADVICE


NEW = QueryStatus("copy", pool="copy", checkpoint="c")
COMMITTED = QueryStatus("copy", pool="copy", checkpoint="c", batch=0)
PARSED = QueryStatus("copy", pool="copy", checkpoint="c", sources=(SourceStatus("orders", good=1),))


def malformed(place: str) -> Failure:
    return of_text(f"{BAD_RECORD} a record does not parse: {place}: not valid JSON")


@pytest.mark.parametrize("place", ["topic t partition 0 offset 0", f"file file:/{'long/' * 200}a.json"])
@pytest.mark.parametrize(
    ("status", "advice"),
    [(NEW, FIRST_RECORD_ADVICE), (COMMITTED, BAD_RECORD_ADVICE), (PARSED, BAD_RECORD_ADVICE)],
)
def test_the_advice_goes_by_what_has_parsed_before(status: QueryStatus, advice: str, place: str) -> None:
    failure = advised(malformed(place), status)
    assert failure.message.startswith("a record does not parse: ")
    assert failure.message.endswith(advice)
    assert len(failure.message) <= 400
    assert failure.permanent


def test_other_failures_are_left_alone() -> None:
    failure = Failure("DiskFull", "no space is left")
    assert advised(failure, NEW) is failure
