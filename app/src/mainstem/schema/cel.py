"""Rules between fields that the API server can check alone, in CEL.

Each is the counterpart of a rule in `mainstem.language.rules`, and only those stand here that are certain without reading
SQL or filling in parameters, which never stand in names. The bounds of lists and names keep them within the server's
cost budget.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mainstem.language.base import Model


class CelRule(NamedTuple):
    """One rule: what must hold of `self`, what to say where it does not, and the field below `self` to blame."""

    rule: str
    message: str
    field: str = ""

    def render(self) -> dict[str, str]:
        """The rule as an entry of `x-kubernetes-validations`."""
        blamed = {"fieldPath": self.field} if self.field else {}
        return {"rule": self.rule, "message": self.message, **blamed}


def escaped(key: str) -> str:
    """A field's name in CEL, as Kubernetes has it for words that CEL keeps to itself: `__function__`."""
    return f"__{key}__" if key in _RESERVED else key


def exactly_one(keys: list[str]) -> CelRule:
    """A union: exactly one of the keys is given."""
    if len(keys) == 1:
        return CelRule(f"has(self.{escaped(keys[0])})", f"exactly one of {keys[0]} must be given")
    given = ", ".join(f"has(self.{escaped(key)})" for key in keys)
    return CelRule(f"[{given}].filter(x, x).size() == 1", f"exactly one of {', '.join(keys)} must be given")


_RESERVED: Final = frozenset({"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"})  # fmt: skip
"""Words that are no names in CEL."""

CelRules = Mapping[type[Model], tuple[CelRule, ...]]
"""Model -> its rules."""
