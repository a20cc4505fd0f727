"""Sources of the document as DataFrames, streaming and static.

Never knows the views and queries that read them.
"""
