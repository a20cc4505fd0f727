"""Spark's progress events as the status of a query.

Never decides anything by it.
"""
