"""The options of Spark's readers, writers and Kafka's clients, from the document.

Never reads or writes a row.
"""
