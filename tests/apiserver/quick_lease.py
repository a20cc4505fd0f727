"""The operator with a Lease of 6 seconds in place of 15, and all times that hang on it in proportion."""

from mainstem_operator.leadership import lease


lease.DURATION_SECONDS = 6  # type: ignore[misc]
lease.RENEW_SECONDS = 4.0  # type: ignore[misc]
lease.RETRY_SECONDS = 0.8  # type: ignore[misc]

from mainstem_operator.__main__ import main  # noqa: E402 - the election reads the times as it is imported


if __name__ == "__main__":
    main()
