"""All reasons: name, meaning, what to do, exit code, and whether a restart can help. The pages are generated from them.

A group of reasons is a module here. Code writes `reasons.UNKNOWN_FIELD`. Never decides, raises or writes anything.
"""

from mainstem.reasons.conditions import *  # noqa: F403 - one name for all groups: a new reason needs no line here
from mainstem.reasons.document_connectors import *  # noqa: F403
from mainstem.reasons.document_deployment import *  # noqa: F403
from mainstem.reasons.document_form import *  # noqa: F403
from mainstem.reasons.document_queries import *  # noqa: F403
from mainstem.reasons.document_relations import *  # noqa: F403
from mainstem.reasons.healthy import *  # noqa: F403
from mainstem.reasons.missing_on_the_machine import *  # noqa: F403
from mainstem.reasons.missing_servers import *  # noqa: F403
from mainstem.reasons.notices import *  # noqa: F403
from mainstem.reasons.operator_faults import *  # noqa: F403
from mainstem.reasons.query_failures import *  # noqa: F403
from mainstem.reasons.reason import Exit as Exit
from mainstem.reasons.reason import Reason as Reason
from mainstem.reasons.registry import named as named
from mainstem.reasons.trials import *  # noqa: F403
