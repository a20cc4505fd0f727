"""The language of documents: its models and rules, and everything that is known about a document without Spark.

Never imports Spark, Kubernetes, `dataframes` or `runtime`.
"""
