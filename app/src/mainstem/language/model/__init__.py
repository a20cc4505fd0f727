"""The frozen models of a document and of its status.

Never reads text, and never compares one object of a document with another.
"""
