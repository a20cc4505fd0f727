"""`mainstem diff`: what a change of a document does to each query, before anything restarts."""

from mainstem.cli_diff.command import diff


__all__ = ["diff"]
