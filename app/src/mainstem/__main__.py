"""`python -m mainstem` is the command `mainstem`."""

from mainstem.entry import main


main()
