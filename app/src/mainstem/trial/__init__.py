"""Tries a changed document beside the running pipeline: both documents process the same batches on copies of a checkpoint.

Never writes to a sink, to a checkpoint of the pipeline, or to anything else that the pipeline uses.
"""
