"""One query: analysed, started, run, drained, restarted within its budget.

Never knows the other queries.
"""
