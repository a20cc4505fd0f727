"""The journal of a batch query's runs, below its checkpoint: `runs/<id>/planned/N`, `done/N`, `closed/N` and
`ended/<name>`.

A run is done once its sink has all of it. One that was planned and is not done is tried again under its number, by
which a sink knows what it has already. A run is closed once the whole pipeline has come to its end: only then does
another start of the pipeline mean another run. On a cluster runs have names: a driver that is killed after its run was
closed is started again under the run's name, and finds it ended. Empty files, so that none is ever half written.
"""

import uuid
from typing import Final

from pyspark.sql import SparkSession

from mainstem.runtime.clients.filesystem import Directory, newest


PLANNED: Final = "planned"
DONE: Final = "done"
_CLOSED: Final = "closed"
_ENDED: Final = "ended"


class BatchJournal:
    """The journal of the runs of one batch query: which were planned, done and closed.

    Args:
        session: any session.
        checkpoint: full path of the query's checkpoint.
        run: the name of the pipeline's run; empty where each start after a closed run is another one.

    Attributes:
        id: of the checkpoint; the same for all runs.
        path: the folder of the runs.
    """

    def __init__(self, session: SparkSession, checkpoint: str, run: str = "") -> None:
        directory = Directory(session, f"{checkpoint}/runs")
        known = sorted(directory.names()) if directory.exists() else []
        self.id = known[0] if known else str(uuid.uuid4())
        self._directory = directory / self.id
        self.path = self._directory.path
        self._ended = self._directory / _ENDED / run if run else None

    @property
    def done(self) -> int | None:
        """The number of the newest run that is done."""
        return newest(self._directory / DONE)

    def plan(self) -> int | None:
        """The number of the run to be tried; None where it is done and the pipeline has not come to its end since, and
        where the pipeline's run of this name has come to its end.
        """
        done, closed = self.done, newest(self._directory / _CLOSED)
        if done != closed or (self._ended is not None and self._ended.exists()):
            return None
        run = 0 if done is None else done + 1
        (self._directory / PLANNED / str(run)).touch()
        return run

    def finish(self, run: int) -> None:
        """Record that the sink has all of the run."""
        (self._directory / DONE / str(run)).touch()

    def close(self) -> None:
        """Record that the pipeline has ended: the next start of it is another run."""
        if (done := self.done) is not None:
            if self._ended is not None:
                self._ended.touch()  # before the run is closed: a start in between finds the run either done or ended
            (self._directory / _CLOSED / str(done)).touch()
