"""Cron, as CronJobs have it; pure."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim
from mainstem.spec.deployment import Schedule


def slots(schedule: Schedule, last: datetime, now: datetime) -> tuple[datetime | None, datetime]:
    """The newest slot after `last` that is due, if any, and the first one to come; slots missed in between are left out.

    Args:
        schedule: expression and zone; through changes of the clock as Debian's cron does it.
        last: the slot of the last run, or when the pipeline was made.
        now: the time.
    """
    due = None
    for slot in CronSim(schedule.cron, last.astimezone(ZoneInfo(schedule.time_zone))):
        found = slot.astimezone(UTC)
        if found > now:
            return due, found
        due = found
    raise ValueError(f"no day ever matches {schedule.cron!r}")
