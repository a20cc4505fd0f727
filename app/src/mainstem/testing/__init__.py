"""Runs the tests that users write for their documents.

Never reads or writes anything outside this machine.
"""
