"""Supervises all queries of a run until they end: starts, restarts, waits, refreshes and drains them.

Never knows where it runs, on a machine or in a pod.
"""
