"""Turns Spark's progress events into the status of a query.

Never decides anything by it.
"""
