"""The files in and beside a checkpoint: owner record, fixed settings, journal of batches, orphan files.

Never starts a query.
"""
