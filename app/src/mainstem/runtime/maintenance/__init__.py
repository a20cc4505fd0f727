"""Work on tables and folders beside the queries: compaction, vacuum, removal of orphan files.

Never stops a query.
"""
