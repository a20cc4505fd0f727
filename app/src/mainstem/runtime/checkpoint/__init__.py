"""The files in and beside a checkpoint: owner record, document record, fixed state layout, journal of batch queries, orphan files.

Never starts a query.
"""
