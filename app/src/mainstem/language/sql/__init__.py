"""Finds what is certain about a SQL text: its names, columns, joins and logical plan.

Never depends on the document around the text, and never guesses: what is uncertain stays unknown.
"""
