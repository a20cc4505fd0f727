"""The commands that run in an executor's pod: the start of the executor and its decommissioning.

Never imports pyspark or pydantic, which cost seconds of an executor's start.
"""
