"""Sets the local time of this process, and of the Python workers of its JVM, to the document's time zone.

A time without `tzinfo` is then the same in the user's code in the driver, in its workers and in pandas.
"""

import os
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from mainstem import reasons
from mainstem.errors import NotReady


def set_time_zone(zone: str) -> None:
    """Set the local time to a zone of the IANA database, before the JVM starts.

    Raises:
        NotReady: `UnknownTimeZone`, if the system does not know the zone; C's library then silently takes UTC.
    """
    os.environ["TZ"] = zone
    time.tzset()
    known = ZoneInfo(zone)
    for month in (1, 7):
        moment = datetime(2026, month, 1, tzinfo=UTC)
        if moment.astimezone().utcoffset() != moment.astimezone(known).utcoffset():
            raise NotReady(
                f"the system has no time zone {zone}",
                reason=reasons.UNKNOWN_TIME_ZONE,
                remedy="install the package tzdata",
            )
