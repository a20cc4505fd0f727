"""What to do next for a pipeline, and what its status says; pure.

Never reads or writes; the same input gives the same plan.
"""
