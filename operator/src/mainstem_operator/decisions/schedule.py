"""Scheduled times of a cron expression, as in CronJobs; pure."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim
from mainstem.language.model.deployment import Schedule


_LOOK_BACK: Final = (timedelta(days=1), timedelta(days=40), timedelta(days=366))
"""Spans to search for the last scheduled time, shortest first: a pipeline may have been suspended for years."""


def slots(schedule: Schedule, last: datetime, now: datetime) -> tuple[datetime | None, datetime]:
    """The newest scheduled time after `last` that is due, if any, and the next one; missed times in between are skipped.

    Args:
        schedule: expression and zone; daylight saving as in Debian's cron.
        last: the scheduled time of the last run, or the creation time of the pipeline.
        now: the time.
    """
    for span in _LOOK_BACK:
        if now - span > last:
            due, following = _slots(schedule, now - span, now)
            if due is not None:
                return due, following
    return _slots(schedule, last, now)


def last_run(schedule: Schedule, last: datetime, now: datetime) -> datetime:
    """The scheduled time of the last run, or `now` if that time is impossible: a clock that was a day ahead wrote it.

    The very next scheduled time is possible: the operator's clock has gone back a little, and the run is done.
    """
    return now if last > now and last > _slots(schedule, now, now)[1] else last


def _slots(schedule: Schedule, after: datetime, now: datetime) -> tuple[datetime | None, datetime]:
    due = None
    for slot in CronSim(schedule.cron, after.astimezone(ZoneInfo(schedule.time_zone))):
        time = slot.astimezone(UTC)
        if time > now:
            return due, time
        due = time
    raise ValueError(f"no day ever matches {schedule.cron!r}")
