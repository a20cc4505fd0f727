"""One loop for each pipeline: observe, decide, apply.

Never imports Kopf.
"""
