"""The operator with a Lease that lasts so many seconds in place of 15, with all times that hang on it: `other_lease SECONDS`."""

import sys

from mainstem_operator.leadership import lease


lease.DURATION_SECONDS = int(sys.argv.pop(1))  # type: ignore[misc]
lease.RENEW_SECONDS = lease.DURATION_SECONDS * 2 / 3  # type: ignore[misc]
lease.RETRY_SECONDS = 0.8  # type: ignore[misc]

from mainstem_operator.__main__ import main  # noqa: E402 - the election reads the times as it is imported


if __name__ == "__main__":
    main()
