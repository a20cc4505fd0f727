"""Reads, checks, copies and removes checkpoints without Spark and without Java.

`entries`, `layout`, `state_files`, `damage` and `copying` compute from listings and texts. `stores` and `s3_store`
read and write.
"""
