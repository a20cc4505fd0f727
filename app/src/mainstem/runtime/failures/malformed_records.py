"""Explains a malformed record: if the query has never decoded a record, the schema may be wrong."""

import re
from dataclasses import replace
from typing import Final

from mainstem import reasons
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.failures.classification import MOST, Failure


FIRST: Final = (
    "nothing has been read before: where other records look like this one, the schema or an option of the format is wrong; "
    "where few are malformed, "
)
_MALFORMED: Final = re.compile(
    r"(?P<record>a record does not parse: .*); (?P<remedy>set \S+ to drop or deadLetter(?: \(sink '[^']*'\))?)"
)


def explained(failure: Failure, status: QueryProgress) -> Failure:
    """The failure, with the advice to look at the schema where the query has not decoded a record yet.

    To leave malformed records out would leave out all of them, where the schema is wrong.

    Args:
        failure: why the query failed; a reason other than `MalformedRecord` stays unchanged.
        status: the status of the query.
    """
    has_read = status.batch is not None or any(source.decoded for source in status.sources)
    match = _MALFORMED.fullmatch(failure.message)
    if failure.reason != reasons.MALFORMED_RECORD or has_read or match is None:
        return failure
    advice = f"; {FIRST}{match['remedy']}"
    return replace(failure, message=f"{match['record'][: MOST - len(advice)]}{advice}")
