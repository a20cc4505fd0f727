"""The status of an object in GitOps tools, by their own code: kstatus, Flux's health expressions, Argo CD's Lua."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.gotools import GITOPS


Object = Mapping[str, Any]


def kstatus(objects: Sequence[Object]) -> list[str]:
    """The kstatus of each object, which Flux and Helm 4 wait for: `Current`, `Failed`, ..."""
    return [
        answer["status"] for answer in _ask([{"reader": "kstatus", "object": entry} for entry in objects])
    ]


def flux(objects: Sequence[Object], checks: Mapping[str, str]) -> list[str]:
    """The status of each object by an entry of `healthCheckExprs` of a Flux Kustomization."""
    asked = [{"reader": "flux", "object": entry, "checks": dict(checks)} for entry in objects]
    return [answer["status"] for answer in _ask(asked)]


def lua(objects: Sequence[Object], script: str) -> list[Any]:
    """The result of a Lua script of Argo CD for each object."""
    asked = [{"reader": "lua", "object": entry, "script": script} for entry in objects]
    return [answer["result"] for answer in _ask(asked)]


@cache
def _program() -> Path:
    return GITOPS.build().path / "gitops"


def _ask(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(entry) + "\n" for entry in asked)
    done = subprocess.run([_program()], input=lines, capture_output=True, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if errors := [answer["error"] for answer in answers if "error" in answer]:
        raise HarnessError(f"gitops: {errors[0]}")
    return answers
