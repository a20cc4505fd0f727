"""The message of a run that ended with failed queries."""

from mainstem.errors import Fenced
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.runner import query_failed


def failed(name: str, reason: str, message: str) -> QueryProgress:
    return QueryProgress(
        name, state=QueryState.FAILED, pool=name, checkpoint="c", reason=reason, message=message
    )


def test_a_failed_run_reports_its_failed_query() -> None:
    error = query_failed([failed("copy", "DiskFull", "no space is left")])
    assert str(error) == "query 'copy' failed: no space is left [DiskFull]"


def test_a_failed_run_names_all_failed_queries() -> None:
    first, second = failed("copy", "DiskFull", "no space"), failed("count", "PythonFailed", "ValueError: odd")
    error = query_failed([first, second, failed("third", "OutOfMemory", "full")])
    assert error.reason == "DiskFull"
    assert str(error) == (
        "query 'copy' failed: no space [DiskFull]; failed too: 'count': ValueError: odd [PythonFailed]; "
        "'third': full [OutOfMemory] [DiskFull]"
    )


def test_a_run_that_lost_a_checkpoint_is_fenced_whatever_failed_first() -> None:
    error = query_failed(
        [failed("copy", "DiskFull", "no space"), failed("count", "Fenced", "a newer driver")]
    )
    assert (type(error), error.exit_code) == (Fenced, 8)
