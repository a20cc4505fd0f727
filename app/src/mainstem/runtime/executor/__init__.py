"""The entry points of an executor's pod: its start and its decommissioning.

Never imports pyspark or pydantic, which cost seconds of an executor's start.
"""
