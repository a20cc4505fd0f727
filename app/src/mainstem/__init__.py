"""Mainstem: streaming pipelines as one document.

Rooms, in reading order: `spec` (the language), `schema` (what is generated from it), `build` (document to
DataFrames), `run` (session, supervisor, drain, progress), `cli`.
"""

__version__ = "0.1.0"
