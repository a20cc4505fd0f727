"""All queries of a run, until they end: starts, restarts, waits, refreshes, drains.

Never knows where it runs, on a machine or in a pod.
"""
