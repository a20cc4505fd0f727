"""Views of the document as DataFrames: SQL, steps, expectations.

Never writes, and never knows the sinks.
"""
