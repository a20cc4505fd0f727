"""The Lease, which decides which of several operators may write.

Never touches a pipeline.
"""
