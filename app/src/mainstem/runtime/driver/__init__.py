"""A run in the driver's pod: its settings, endpoints, metrics, status and termination message.

Never changes how queries run; only `status_api` and the errors of `mainstem.cluster` import `kubernetes`.
"""
