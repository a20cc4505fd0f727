"""Starts the Spark session and its JVM: command line, properties, packages, secrets, scratch folders.

Never knows the queries that run in it.
"""
