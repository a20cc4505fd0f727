"""Cannot be imported."""

raise RuntimeError("no licence, token=abcdef")
