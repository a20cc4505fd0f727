"""The rules of a document; `registry` lists them in their order.

Never needs Spark, and never rejects a document that may be valid.
"""
