"""Decides the next step of a pipeline and its status; pure.

Never reads or writes; the same input gives the same plan.
"""
