"""The operator whose webhook reads its Secret twice a second instead of every 15 seconds."""

from mainstem_operator.__main__ import main
from mainstem_operator.admission import certificate_keeper


certificate_keeper.PAUSE_SECONDS = 0.5  # type: ignore[misc]


if __name__ == "__main__":
    main()
