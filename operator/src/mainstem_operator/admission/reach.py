"""Whether API servers can reach the webhook of this process."""


class Reach:
    """Why API servers cannot reach the webhook yet: empty from the time on at which they can. Later problems do not change it."""

    def __init__(self) -> None:
        self.problem = "the webhook has no certificate yet"

    def begin(self) -> None:
        """API servers can reach it."""
        self.problem = ""

    def failed(self, why: str) -> None:
        """A step towards it has failed."""
        if self.problem:
            self.problem = why
