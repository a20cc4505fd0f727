"""A row of the table of conditions in docs/cluster.md."""

from typing import NamedTuple

from mainstem.reasons.reason import Reason


class ConditionRow(NamedTuple):
    """One row: reasons that a condition has with one status.

    Attributes:
        condition: the condition's type, such as `Ready`.
        status: `True`, `False` or `Unknown`.
        reasons: the entries of the row; empty if the reason comes from elsewhere and `label` describes it.
        meaning: Markdown; empty for the meaning of the first reason.
        label: Markdown of the cell with the reasons; `{}` stands for their names.
    """

    condition: str
    status: str
    reasons: tuple[Reason, ...]
    meaning: str = ""
    label: str = "{}"
