"""Mainstem: streaming pipelines as one document.

Packages, in reading order: `language` (the language), `schema` (what is generated from it), `dataframes` (document to
DataFrames), `runtime` (session, supervisor, drain, progress), `cli`.
"""

__version__ = "0.1.0"
