"""Checks, before a query starts, that everything that a pipeline needs exists.

Never waits; `supervision` waits for missing inputs.
"""
