"""Turns a document into DataFrames and started queries; `query` and `batch_query` are the entries.

Never restarts, watches or stops a query; `runtime` does.
"""
