"""Writes DataFrames to sinks: by Spark's own streaming writers, and by writers of batches.

Never reads a source.
"""
