"""One query: its analysis, start, execution, drain and restart budget.

Never knows the other queries.
"""
