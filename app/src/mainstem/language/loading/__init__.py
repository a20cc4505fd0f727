"""From plain data to models: shape, parameters, and problems at their line and column.

Never judges what a well-shaped document means; `rules` does.
"""
