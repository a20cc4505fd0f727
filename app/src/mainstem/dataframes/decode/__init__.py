"""Decodes records into columns, and separates the malformed records.

Never knows which source the records come from.
"""
