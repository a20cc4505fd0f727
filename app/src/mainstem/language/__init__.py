"""The language: what a pipeline document may say, and everything that can be known of it without Spark.

Never imports Spark, Kubernetes, `dataframes` or `runtime`.
"""
