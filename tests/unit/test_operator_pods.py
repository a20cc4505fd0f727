"""Driver pods and executor templates: owned fields and fields of the user, the restricted level, no value of a secret.

`python -m unit.test_operator_pods` in `tests` writes the golden files again.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import VALID, document
from hypothesis import given
from hypothesis import strategies as st
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_object
from mainstem_operator.manifests import objects, pods
from mainstem_operator.manifests.pod_template import built, merged
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision, revision_of, validate
from unit.operator_steps import SETTINGS, SPEC, body, revision


GOLDEN = Path(__file__).parent / "golden"
DOCUMENTS = ["kafka-to-parquet", "executors-templates"]


def resource(name: str) -> dict[str, Any]:
    pipeline = document(name)
    pipeline["metadata"] |= {"namespace": "ns", "uid": "uid-1", "generation": 3}
    return pipeline


def runs(pipeline: dict[str, Any]) -> Revision:
    """A revision, durable or not."""
    current = validate(pipeline).revision
    return current or revision_of(read_object(pipeline), "00000000", "")


def both(pipeline: dict[str, Any], settings: Settings = SETTINGS) -> list[dict[str, Any]]:
    rev = runs(pipeline)
    made = [
        pods.driver_pod(pipeline, rev, settings, attempt=2, run="generation-1"),
        pods.executor_template(pipeline, rev, settings),
    ]
    return [pod for pod in made if pod is not None]


def golden(name: str) -> str:
    return yaml.safe_dump_all(both(resource(name)), sort_keys=True, width=120)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_pods_match_the_golden_files(name: str) -> None:
    assert golden(name) == (GOLDEN / f"{name}.pods.yaml").read_text(encoding="utf-8")


def test_a_driver_has_five_minutes_to_start_before_its_liveness_counts() -> None:
    driver = both(resource("kafka-to-parquet"))[0]["spec"]["containers"][0]
    startup = driver["startupProbe"]
    assert startup["httpGet"] == driver["livenessProbe"]["httpGet"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 300


def test_the_secret_of_an_unused_connection_blocks_no_pod() -> None:
    pipeline = resource("kafka-to-parquet")
    spare = {"name": "spare", "s3": {"buckets": ["spare"], "secretRef": {"name": "not-there"}}}
    pipeline["spec"]["connections"].append(spare)
    for pod in both(pipeline):
        secrets = [each["secret"] for each in pod["spec"]["volumes"] if "secret" in each]
        optional = {each["secretName"]: each.get("optional", False) for each in secrets}
        assert optional.pop("not-there")
        assert not any(optional.values())


# -- the restricted level of pod security, by its text -----------------------------------------------------------


def offences(pod: dict[str, Any]) -> list[str]:
    spec, problems = pod["spec"], []
    if any(spec.get(field) for field in ("hostNetwork", "hostPID", "hostIPC")):
        problems.append("host namespaces")
    kinds = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    problems += [
        f"volume {entry['name']}"
        for entry in spec.get("volumes", ())
        if not (entry.keys() - {"name"}) <= kinds
    ]
    above = spec.get("securityContext", {})
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        own = container.get("securityContext", {})
        name = container["name"]
        if own.get("allowPrivilegeEscalation") is not False:
            problems.append(f"{name} may escalate")
        if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add"):
            problems.append(f"{name} has capabilities")
        if (
            not own.get("runAsNonRoot", above.get("runAsNonRoot"))
            or own.get("runAsUser", above.get("runAsUser")) == 0
        ):
            problems.append(f"{name} runs as root")
        if own.get("seccompProfile", above.get("seccompProfile", {})).get("type") not in (
            "RuntimeDefault",
            "Localhost",
        ):
            problems.append(f"{name} without seccomp")
        if own.get("readOnlyRootFilesystem") is not True:
            problems.append(f"{name} writes its root")
        if any(port.get("hostPort") for port in container.get("ports", ())):
            problems.append(f"{name} on a host's port")
    return problems


@pytest.mark.parametrize("name", VALID)
def test_every_pod_is_restricted(name: str) -> None:
    for pod in both(resource(name)):
        ours = copy.deepcopy(pod)
        ours["spec"]["containers"] = ours["spec"]["containers"][:1]  # a sidecar is the user's own
        ours["spec"].pop("initContainers", None)
        assert offences(ours) == []
        assert ours["spec"]["containers"][0]["name"] in ("driver", "executor")
        assert ours["spec"]["restartPolicy"] == "Never"


def test_the_check_of_pod_security_can_fail() -> None:
    [pod] = both(resource("smallest"))
    pod["spec"]["securityContext"]["runAsUser"] = 0
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    pod["spec"]["volumes"].append({"name": "host", "hostPath": {"path": "/"}})
    assert offences(pod) == ["volume host", "driver may escalate", "driver runs as root"]


# -- templates ------------------------------------------------------------------------------------------------------

WORDS = st.text("abc", min_size=1, max_size=3)
MAPPINGS = st.dictionaries(WORDS, WORDS, max_size=3)
ENV = st.lists(
    st.fixed_dictionaries({"name": WORDS, "value": WORDS}), max_size=3, unique_by=lambda pair: pair["name"]
)
VOLUMES = st.lists(
    st.fixed_dictionaries({"name": WORDS, "emptyDir": st.just({})}),
    max_size=3,
    unique_by=lambda pair: pair["name"],
)
TEMPLATES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": MAPPINGS, "annotations": MAPPINGS}),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "nodeSelector": MAPPINGS,
                "priorityClassName": WORDS,
                "tolerations": st.lists(st.fixed_dictionaries({"key": WORDS}), max_size=3),
                "volumes": VOLUMES,
                "securityContext": st.fixed_dictionaries(
                    {}, optional={"runAsUser": st.just(5), "sysctls": st.just([])}
                ),
                "containers": st.lists(
                    st.fixed_dictionaries(
                        {"name": st.sampled_from(["driver", "side"])},
                        optional={
                            "env": ENV,
                            "volumeMounts": st.just([{"name": "data", "mountPath": "/data"}]),
                            "image": st.just("side:1"),
                        },
                    ),
                    max_size=2,
                    unique_by=lambda pair: pair["name"],
                ),
            },
        ),
    },
)


def contains(whole: Any, part: Any) -> bool:
    """Whether the whole contains the part; lists of named entries compare by name."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], part[key]) for key in part
        )
    if isinstance(part, list):
        return all(any(contains(entry, wanted) for entry in whole) for wanted in part)
    return bool(whole == part)


@given(TEMPLATES)
def test_owned_fields_win_over_the_template_and_the_template_over_defaults(
    template: dict[str, Any],
) -> None:
    pipeline = body()
    rev = revision(pipeline)
    owned = pods.driver_pod(pipeline, rev, SETTINGS, attempt=1, run="generation-1")
    defaults = {
        "spec": {
            "securityContext": owned["spec"].pop("securityContext"),
            "containers": [
                {
                    "name": "driver",
                    "securityContext": owned["spec"]["containers"][0].pop("securityContext"),
                }
            ],
        }
    }
    kept = copy.deepcopy(template)
    made = built(defaults, template, owned)
    assert template == kept, "the template is not changed"
    assert contains(made, owned)
    assert made["spec"]["containers"][0]["name"] == "driver"
    free = copy.deepcopy(template)
    for container in free.get("spec", {}).get("containers", ()):
        if container["name"] == "driver":
            container.pop("image", None)
    assert contains(made, free)
    assert built(defaults, template, made) == made, "merging again changes nothing"
    assert offences({**made, "spec": {**made["spec"], "containers": made["spec"]["containers"][:1]}}) == []


VALUES = st.recursive(
    WORDS,
    lambda inner: st.dictionaries(WORDS, inner, max_size=3) | st.lists(inner, max_size=3, unique_by=repr),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_merging_is_idempotent_and_does_not_change_its_arguments(under: Any, over: Any) -> None:
    before = copy.deepcopy((under, over))
    once = merged(under, over)
    assert (under, over) == before
    assert merged(once, over) == once
    assert merged({}, {"a": over}) == {"a": over}


def test_lists_are_merged_by_the_key_of_their_entries() -> None:
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]
    assert merged({"volumeMounts": mounts}, {"volumeMounts": [{"name": "x", "mountPath": "/b"}]}) == {
        "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "x", "mountPath": "/b"}]
    }
    tolerations = [{"key": "spot", "operator": "Exists"}]
    assert merged({"tolerations": tolerations}, {"tolerations": tolerations}) == {"tolerations": tolerations}


def test_the_template_of_a_document_cannot_change_owned_fields() -> None:
    """The rules reject such a template; the merge drops the fields as well."""
    hostile = {"metadata": {"labels": {"app.kubernetes.io/component": "x", "team": "data"}}}
    pipeline = body(driver={"template": hostile})
    with pytest.raises(SpecInvalid):
        read_object(pipeline)
    fine = body(driver={"template": {"metadata": {"labels": {"team": "data"}}}})
    made = pods.driver_pod(fine, revision(fine), SETTINGS, attempt=1, run="generation-1")
    assert made["metadata"]["labels"] == {**objects.labels("ticks", "driver"), "team": "data"}


# -- images, secrets, revisions -------------------------------------------------------------------------------------


def test_the_image_comes_from_the_document_or_the_operator() -> None:
    own = body(image="registry.example/own:3", imagePullPolicy="Always", imagePullSecrets=[{"name": "mine"}])
    settings = Settings(
        driver_image="registry.example/default:1", image_pull_policy="Never", image_pull_secrets=("ours",)
    )
    [mine], [default] = both(own, settings), both(body(), settings)
    containers = [pod["spec"]["containers"][0] for pod in (mine, default)]
    assert [entry["image"] for entry in containers] == [
        "registry.example/own:3",
        "registry.example/default:1",
    ]
    assert [entry["imagePullPolicy"] for entry in containers] == ["Always", "Never"]
    assert [
        {entry["name"]: entry.get("value") for entry in container["env"]}["MAINSTEM_IMAGE"]
        for container in containers
    ] == ["registry.example/own:3", "registry.example/default:1"]
    assert mine["spec"]["imagePullSecrets"] == [{"name": "mine"}, {"name": "ours"}]


def test_secrets_are_mounted_only_as_files() -> None:
    pipeline = resource("s3-own-endpoint")
    names = [
        entry["s3"]["secretRef"]["name"]
        for entry in pipeline["spec"]["connections"]
        if "secretRef" in entry.get("s3", {})
    ]
    assert names
    [pod] = both(pipeline)
    volumes = {entry["secret"]["secretName"] for entry in pod["spec"]["volumes"] if "secret" in entry}
    assert volumes == set(names)
    for container in pod["spec"]["containers"]:
        assert not [entry for entry in container["env"] if "secretKeyRef" in entry.get("valueFrom", {})]
        for mount in container["volumeMounts"]:
            if mount["mountPath"].startswith("/etc/mainstem/secrets/"):
                assert mount["readOnly"]


@pytest.mark.parametrize("name", VALID)
def test_a_revision_ignores_metadata_and_suspend(name: str) -> None:
    pipeline = resource(name)
    rev = runs(pipeline)
    later = copy.deepcopy(pipeline)
    later["metadata"] |= {"generation": 9, "uid": "other", "resourceVersion": "77"}
    later["spec"]["suspend"] = True
    assert runs(later).name == rev.name


def test_a_revision_changes_with_what_runs() -> None:
    first = revision(body())
    assert revision(body(suspend=True)).name == first.name
    assert revision(body(timeZone="UTC")).name == first.name, "a default that is written out"
    assert revision(body(SPEC, suspend=None)).name == first.name
    for change in ({"timeZone": "Asia/Kolkata"}, {"image": "other:1"}, {"executors": {"instances": 1}}):
        assert revision(body(**change)).name != first.name


def test_the_template_of_executors_belongs_to_the_release_and_not_to_the_revision() -> None:
    pipeline = body(executors={"instances": 1})
    rev = revision(pipeline)
    other = Settings(
        driver_image="registry.example/default:1", image_pull_policy="Never", image_pull_secrets=("pull",)
    )
    drivers, templates = zip(both(pipeline), both(pipeline, other), strict=True)
    mounted = [pod["spec"]["volumes"][0]["projected"]["sources"] for pod in drivers]
    made = [objects.template(pipeline, template)["metadata"]["name"] for template in templates]
    assert [entry[0]["configMap"]["name"] for entry in mounted] == [f"ticks-{rev.name}"] * 2
    assert [entry[1]["configMap"]["name"] for entry in mounted] == made
    assert len(set(made)) == 2


def test_a_revision_is_read_back_from_its_document() -> None:
    from mainstem_operator.validation.documents import recall

    rev = revision(resource("kafka-to-parquet"))
    assert recall(rev.text, rev.name).pipeline == rev.pipeline
    made = objects.document(resource("kafka-to-parquet"), rev)
    assert made["metadata"]["name"] == f"archive-{rev.name}"
    assert made["immutable"] is True
    assert len(json.dumps(made)) < 1_000_000


if __name__ == "__main__":
    for wanted in DOCUMENTS:
        (GOLDEN / f"{wanted}.pods.yaml").write_text(golden(wanted), encoding="utf-8")
