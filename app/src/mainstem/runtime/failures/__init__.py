"""Classifies Spark's exceptions: one line with a stable reason, and whether a restart can help.

Never starts, stops or restarts anything.
"""
