"""A run in the driver's pod: its settings, endpoints, metrics, status and termination message.

Never changes how queries run; only `status_api` imports `kubernetes`.
"""
