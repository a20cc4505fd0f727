"""Finds what is missing or broken in a checkpoint, in the records beside it, and in the logs of its sources and sinks.

Never repairs anything, and needs no Spark.
"""
