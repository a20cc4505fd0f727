"""Reads the document's sources as DataFrames, streaming and static.

Never knows the views and queries that read them.
"""
