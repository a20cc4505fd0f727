"""Python and Java code that the document names: found, checked, registered with a session.

Never knows sources, views or sinks.
"""
