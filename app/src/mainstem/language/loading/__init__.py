"""From plain data to models: shape, parameters, and problems at their line and column.

Never checks the meaning of a document with a valid shape; `rules` does.
"""
