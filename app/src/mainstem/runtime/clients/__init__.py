"""Clients of what a run talks to: file systems, brokers, object stores, plain sockets.

Never knows queries or documents beyond their connections.
"""
