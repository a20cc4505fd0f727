"""What the operator knows about a pipeline when it plans the next step: plain data; pure.

Never reads anything itself; `loop` does.
"""
