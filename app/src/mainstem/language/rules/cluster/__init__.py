"""Rules for the part of a document that describes pods.

Never knows what one cluster allows; the operator's `policies` do.
"""
