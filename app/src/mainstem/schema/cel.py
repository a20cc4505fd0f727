"""The form of CEL rules: rules between fields that the API server checks by itself.

Each CEL rule is the counterpart of a rule in `mainstem.language.rules`. A rule has a counterpart only if it is certain
without the SQL and without the values of parameters; names never contain parameters. The limits of lists and names keep
the rules within the cost budget of the API server.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mainstem.language.base import Model


WHICH: Final = " (`mainstem validate` shows which one)"


class CelRule(NamedTuple):
    """One rule.

    Attributes:
        rule: the CEL expression, which must be true for `self`.
        message: the error message if it is false.
        field: the path of the wrong field below `self`.
        each: the rule is one for all entries of a list, so that the server cannot show which one is wrong: an expression for
            the message that finds the entry costs a hundred times of what the server allows.
    """

    rule: str
    message: str
    field: str = ""
    each: bool = False

    def render(self) -> dict[str, str]:
        """The rule as an entry of `x-kubernetes-validations`."""
        field_path = {"fieldPath": self.field} if self.field else {}
        return {"rule": self.rule, "message": f"{self.message}{WHICH if self.each else ''}", **field_path}


def escaped(key: str) -> str:
    """The name of a field in CEL; Kubernetes escapes reserved words of CEL: `__function__`."""
    return f"__{key}__" if key in _RESERVED else key


def exactly_one(keys: list[str]) -> CelRule:
    """The rule of a union: exactly one of the keys is set."""
    if len(keys) == 1:
        return CelRule(f"has(self.{escaped(keys[0])})", f"exactly one of {keys[0]} must be given")
    given = ", ".join(f"has(self.{escaped(key)})" for key in keys)
    return CelRule(f"[{given}].filter(x, x).size() == 1", f"exactly one of {', '.join(keys)} must be given")


_RESERVED: Final = frozenset({"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"})  # fmt: skip
"""Reserved words of CEL, which cannot be names of fields."""

CelRules = Mapping[type[Model], tuple[CelRule, ...]]
"""Model -> its rules."""
