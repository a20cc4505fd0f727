"""The text of a document for the driver; pure.

It is JSON, which every reader of YAML understands alike. In YAML without quotes `y`, `1e3` and `0o7` are strings for
one reader, and a boolean and numbers for another.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml
from mainstem.language.yaml.guard import NOT_IN_YAML


_ESCAPED: Final = re.compile(f"{NOT_IN_YAML.pattern}|[\x85\u2028\u2029]")
"""Characters that JSON allows in a string, and YAML does not, or takes as a line break."""


def written(data: Mapping[str, Any]) -> str:
    """The text of a document, which JSON and YAML read alike."""
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def read_back(text: str) -> Any:
    """The document of a text that this operator or an older one has written; older ones wrote YAML."""
    return json.loads(text) if text.startswith("{") else yaml.safe_load(text)
