"""What stands in and beside a checkpoint: owner, fixed settings, journal of batches, unfinished files.

Never starts a query.
"""
