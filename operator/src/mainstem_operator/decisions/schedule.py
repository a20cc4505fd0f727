"""Cron, as CronJobs have it; pure."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim
from mainstem.language.model.deployment import Schedule


_LOOK_BACK: Final = (timedelta(days=1), timedelta(days=40), timedelta(days=366))
"""Who was suspended for years is not walked through them minute by minute."""


def slots(schedule: Schedule, last: datetime, now: datetime) -> tuple[datetime | None, datetime]:
    """The newest slot after `last` that is due, if any, and the first one to come; slots missed in between are left out.

    Args:
        schedule: expression and zone; through changes of the clock as Debian's cron does it.
        last: the slot of the last run, or when the pipeline was made.
        now: the time.
    """
    for span in _LOOK_BACK:
        if now - span > last:
            due, following = _slots(schedule, now - span, now)
            if due is not None:
                return due, following
    return _slots(schedule, last, now)


def last_run(schedule: Schedule, last: datetime, now: datetime) -> datetime:
    """The slot of the last run, or the time where that slot cannot be true: a clock that was a day ahead wrote it.

    A slot that is merely the next one is: the operator's clock has gone back a little, and the run is done.
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
