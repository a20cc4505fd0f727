"""What is known of a pipeline when its next step is decided: plain data; pure.

Never reads anything itself; `loop` does.
"""
