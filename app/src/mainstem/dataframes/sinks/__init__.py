"""DataFrames to started writers: Spark's own, and those that write batch by batch.

Never reads a source.
"""
