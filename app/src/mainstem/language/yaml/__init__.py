"""YAML text to plain data that knows line and column of every value.

Never knows what a field means.
"""
