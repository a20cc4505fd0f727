"""The run of a pipeline: `runner` ties it together, `stop` hears signals, `plans` shows Spark's plans without a run.

Never reads a document's text; `language` does.
"""
