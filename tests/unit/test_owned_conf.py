"""What Mainstem sets for a run cannot be set by the document: it would be passed over without a word."""

import pytest
from documents import VALID
from mainstem.language.document import read_text
from mainstem.language.rules.connectors.owned_options import OWNED_CONF, OWNED_IN_PODS, OWNED_PREFIXES
from mainstem.runtime.driver.pod import Pod
from mainstem.runtime.driver.pod_conf import pod_environment


@pytest.mark.parametrize("name", ["small-driver", "executors-templates", "executors-by-demand"])
def test_a_document_cannot_set_the_properties_of_a_pod(name: str) -> None:
    [document] = read_text(VALID[name])
    pod = Pod(namespace="n", name="p", uid="u", ip="10.0.0.1", attempt=1, image="i")
    set_here = pod_environment(document.pipeline, pod).owned
    refused = {key for key in set_here if key in OWNED_CONF or key.startswith(tuple(OWNED_PREFIXES))}
    assert set_here.keys() - refused == OWNED_IN_PODS.keys()
