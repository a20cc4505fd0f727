"""The registry: every entry by its name, and the groups in the order of the runbook's tables."""

from types import ModuleType
from typing import Final

from mainstem.reasons import (
    conditions,
    document_connectors,
    document_deployment,
    document_form,
    document_queries,
    document_relations,
    healthy,
    missing_on_the_machine,
    missing_servers,
    notices,
    operator_faults,
    query_failures,
    trials,
)
from mainstem.reasons.reason import Origin, Reason


_GROUPS: Final[tuple[ModuleType, ...]] = (
    document_form,
    document_relations,
    document_queries,
    document_connectors,
    document_deployment,
    missing_on_the_machine,
    missing_servers,
    query_failures,
    notices,
    conditions,
    trials,
    operator_faults,
    healthy,
)


def entries(*groups: ModuleType) -> list[Reason]:
    """All reasons of some groups, or of every group, in the order in which the modules define them."""
    return [
        value for group in groups or _GROUPS for value in vars(group).values() if isinstance(value, Reason)
    ]


_BY_NAME: Final = {str(reason): reason for reason in reversed(entries())}


def named(name: str) -> Reason:
    """The entry of a name that arrives as text; a name of Spark's or Kubernetes' without an entry gets an empty one."""
    return _BY_NAME.get(name) or Reason(name, origin=Origin.SPARK if name.isupper() else Origin.KUBERNETES)
