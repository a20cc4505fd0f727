"""The command line: `mainstem run`, `validate`, `crd`."""


def main() -> None:
    """Entry point of the command `mainstem`."""
