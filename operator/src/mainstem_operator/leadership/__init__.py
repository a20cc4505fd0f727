"""Which of several operators may write: the Lease.

Never touches a pipeline.
"""
