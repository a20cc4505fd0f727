"""`python -m mainstem` is the command `mainstem`."""

from mainstem.cli import main


main()
