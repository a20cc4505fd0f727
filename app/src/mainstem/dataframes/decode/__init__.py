"""Records to columns, and the records that cannot be decoded.

Never knows which source the records come from.
"""
