"""Sources that do not keep to the glossary yet. A module leaves its list when it is rewritten; none joins it."""

from typing import Final


WORDS_NOT_YET: Final[set[str]] = {
}
"""Modules whose docstrings, comments or messages still hold retired words."""

IDENTIFIERS_NOT_YET: Final[set[str]] = {
}
"""Modules that still assign to a retired identifier."""
