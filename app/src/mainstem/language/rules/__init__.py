"""The rules of a document; `registry` lists them in their order.

Never needs Spark, and never refuses what is only doubtful.
"""
