"""Reads pipelines from a cluster with the rights of the person who runs a command; `mainstem diff --cluster` uses it.

Only `user_api` and `api_errors` import `kubernetes`. Never writes a pipeline or its status.
"""
