"""The advice for a malformed record: it does not suggest to drop all records."""

import pytest
from mainstem.dataframes.decode.decoding import MALFORMED_RECORD
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.failures.classification import Failure, classify_text
from mainstem.runtime.failures.malformed_records import FIRST, explained


REMEDY = "set files.onMalformedRecord to drop or deadLetter"
NEW = QueryProgress("copy", pool="copy", checkpoint="c")
COMMITTED = QueryProgress("copy", pool="copy", checkpoint="c", batch=0)
PARSED = QueryProgress("copy", pool="copy", checkpoint="c", sources=(SourceProgress("orders", decoded=1),))


def malformed(place: str, sink: str = "") -> Failure:
    return classify_text(
        f"{MALFORMED_RECORD} a record does not parse: {place}: not valid JSON: 'a; b'; {REMEDY}{sink}"
    )


@pytest.mark.parametrize("place", ["topic t partition 0 offset 0", f"file file:/{'long/' * 200}a.json"])
@pytest.mark.parametrize(
    ("status", "advice"),
    [(NEW, f"; {FIRST}{REMEDY}"), (COMMITTED, f"; {REMEDY}"), (PARSED, f"; {REMEDY}")],
)
def test_the_advice_depends_on_whether_records_parsed_before(
    status: QueryProgress, advice: str, place: str
) -> None:
    failure = explained(malformed(place), status)
    assert failure.message.startswith("a record does not parse: ")
    assert (FIRST in failure.message) == (status is NEW)
    assert failure.message.endswith(advice)
    assert len(failure.message) <= 400
    assert failure.permanent


def test_the_message_still_names_the_sink() -> None:
    message = explained(malformed("offset 0", " (sink 'archive')"), NEW).message
    assert (
        message
        == f"a record does not parse: offset 0: not valid JSON: 'a; b'; {FIRST}{REMEDY} (sink 'archive')"
    )


def test_other_failures_are_unchanged() -> None:
    failure = Failure("DiskFull", "no space is left")
    assert explained(failure, NEW) is failure
