"""What a document means, in words: what each query reads, keeps, promises, and which triggers it may have. No Spark."""

from mainstem.explain.meaning import meaning
from mainstem.explain.text import text


__all__ = ["meaning", "text"]
