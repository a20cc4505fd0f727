"""The Kubernetes operator of Mainstem: handlers, settings, service; docs/architecture.md shows its packages.

Never imports Spark, `mainstem.dataframes` or `mainstem.runtime`.
"""
