"""Finds and checks the Python and Java code that the document names, and registers it with a session.

Never knows sources, views or sinks.
"""
