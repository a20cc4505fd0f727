"""Clients of the systems that a run uses: brokers, object stores, plain sockets.

Never knows queries or documents beyond their connections.
"""
