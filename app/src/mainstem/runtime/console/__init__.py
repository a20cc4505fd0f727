"""Progress of a run on one machine: a table on a terminal, JSON lines elsewhere.

Never decides anything.
"""
