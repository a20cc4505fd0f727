"""The journal of a batch query's runs, as empty files below its checkpoint.

The files are `runs/<id>/planned/N`, `done/N`, `closed/N` and `ended/<name>`. They are empty, so no file is ever half
written.

- A run is *planned* before it starts. A planned run that is not done is tried again under its number, by which a sink
  recognizes rows that it already has.
- A run is *done* when every sink has all its rows.
- A run is *closed* when the whole pipeline has ended. Only after that does a new start of the pipeline mean a new run.
- On a cluster runs have names. A driver that is killed after its run was closed starts again under the run's name, and
  finds that the run has *ended*.
"""

import uuid
from typing import Final

from pyspark.sql import SparkSession

from mainstem.filesystem import Directory, newest


PLANNED: Final = "planned"
DONE: Final = "done"
_CLOSED: Final = "closed"
_ENDED: Final = "ended"


class BatchJournal:
    """The journal of the runs of one batch query.

    Args:
        session: any session.
        checkpoint: full path of the query's checkpoint.
        run: name of the pipeline's run; empty if each start after a closed run is a new run.

    Attributes:
        id: the id of the checkpoint; the same for all runs.
        path: the folder of the journal.
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
        """Plan the next run and return its number.

        Returns None if the run is done and the pipeline has not ended since, or if the pipeline's run of this name has
        ended.
        """
        done, closed = self.done, newest(self._directory / _CLOSED)
        if done != closed or (self._ended is not None and self._ended.exists()):
            return None
        run = 0 if done is None else done + 1
        (self._directory / PLANNED / str(run)).touch()
        return run

    def finish(self, run: int) -> None:
        """Record that every sink has all rows of the run."""
        (self._directory / DONE / str(run)).touch()

    def close(self) -> None:
        """Record that the pipeline has ended: its next start is a new run."""
        if (done := self.done) is not None:
            if self._ended is not None:
                self._ended.touch()  # before the run is closed: a start between the two files finds the run done or ended
            (self._directory / _CLOSED / str(done)).touch()
