"""Decodes records into columns, and sets aside the records that cannot be decoded.

Never knows which source the records come from.
"""
