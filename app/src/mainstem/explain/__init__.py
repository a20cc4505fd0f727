"""Explains a document: what each query reads, keeps in state and guarantees, and which triggers it may have.

Never imports Spark.
"""

from mainstem.explain.meaning import meaning
from mainstem.explain.text import text


__all__ = ["meaning", "text"]
