"""Facts about a whole document: its graph, occurrences, columns, steps and possible triggers.

Never reports a problem; `rules` does.
"""
