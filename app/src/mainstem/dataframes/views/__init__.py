"""Builds the document's views as DataFrames: SQL, steps, expectations.

Never writes, and never knows the sinks.
"""
