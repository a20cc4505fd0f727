"""Whether everything that a pipeline needs is there, before a query starts.

Never waits; queries that wait are the supervision's.
"""
