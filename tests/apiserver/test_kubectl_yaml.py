"""A document means on a laptop what kubectl makes of it: the same values, and the same keys or a refusal."""

import json
import subprocess
from typing import Any

from harness.gotools import kubernetes
from mainstem.language.yaml.yamltext import parse


SCALARS = (
    *("y", "Y", "n", "N", "yEs", "on", "Off", "True", "tRue", "FALSE", "~x", "nil", "12:30", "2026-01-01", "2026-01-01T00:00:00Z"),
    *("0", "-0", "+3", "007", "017", "08", "0o17", "0x10", "0X1f", "0b11", "1_000", "_1", "1__0", "0x_1", "9007199254740993"),
    *("1.5", "1.50", "1.", ".5", "-.5", "+.5", "1e3", "1E3", "1.5e-7", "1e21", "1e30", "0.1", "1.23456789", "100000000.5"),
    *("1e", "e1", "0x", "1.2.3", "1:2", "--1", "0o8", "0b2", "0.", "00", "0_1", "-0x10", "-0b1", "-017", "1_0.5", "16777217.0"),
)  # fmt: skip


def kubectls(text: str) -> Any:
    kubectl = kubernetes().build().path / "kubectl"
    command = [kubectl, "annotate", "--local", "-f", "-", "-o", "json", "read=true"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["spec"]


def test_values_and_keys_are_those_of_kubectl() -> None:
    head = "apiVersion: mainstem.dev/v1alpha1\nkind: StreamingPipeline\nmetadata: {name: read}\nspec:\n"
    values = "".join(f'  "{at}": {scalar}\n' for at, scalar in enumerate(SCALARS))
    keys = "".join(f"  k{at}: {{{scalar}: 1}}\n" for at, scalar in enumerate(SCALARS))
    [ours] = parse(head + values + keys)
    theirs = kubectls(head + values + keys)
    for at, scalar in enumerate(SCALARS):
        assert json.dumps(ours.at(("spec", str(at)))) == json.dumps(theirs[str(at)]), scalar
        [key] = theirs[f"k{at}"]
        assert key == scalar or ("spec", f"k{at}", scalar) in ours.misread, scalar
