"""Validation of resources' documents: read, check, compute the revision; in separate processes.

Never connects to the API server.
"""
