"""Replicas of the operator that keep the webhook's certificate, in every order, on a real API server and by the test's clock."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apiserver.operatorbed import Bed
from apiserver.webhook_objects import NAMESPACE, WebhookObjects
from kubernetes.aio import client as aio
from kubernetes.aio.config.kube_config import load_kube_config
from mainstem_operator.admission.certificate_keeper import CertificateKeeper
from mainstem_operator.admission.certificates import LIFETIME, OVERLAP, Certificates, issue
from mainstem_operator.admission.reach import Reach
from mainstem_operator.admission.server import ServerTls
from mainstem_operator.api.fence import Fence, clock
from mainstem_operator.api.kubernetes_api import WEBHOOKS, ApiRejection, Kind, KubernetesApi
from mainstem_operator.manifests.rbac import Permission, to_webhook_configuration, to_webhook_secret


HOSTS = ("w.default.svc", "127.0.0.1")


class Chart(WebhookObjects):
    """The objects that the chart creates for a webhook, which no request reaches."""

    def __init__(self, bed: Bed, name: str) -> None:
        super().__init__(bed, name)
        self.now = datetime.now(UTC)
        self.user(name, to_webhook_secret(name))
        rules = [
            {
                "apiGroups": ["nowhere.example"],
                "apiVersions": ["v1"],
                "resources": ["none"],
                "operations": ["CREATE"],
            }
        ]
        hook = {
            "name": "none.nowhere.example",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": rules,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        self.hooks.create_validating_webhook_configuration({"metadata": {"name": name}, "webhooks": [hook]})
        bed.core.create_namespaced_secret(NAMESPACE, {"metadata": {"name": name}})

    def user(self, name: str, to_secret: tuple[Permission, ...]) -> None:
        """Let the next story be carried out by a user with these rights to the Secret."""
        rights = to_webhook_configuration(self.name)
        self._kubeconfig = self.bed.user(name, rights, {NAMESPACE: to_secret})

    def remove(self) -> None:
        self.hooks.delete_validating_webhook_configuration(self.name)
        self.bed.core.delete_namespaced_secret(self.name, NAMESPACE)

    def write(self, certificates: Certificates | None) -> None:
        """Into the Secret; None removes what it has."""
        data = certificates and certificates.data
        change = [{"op": "add", "path": "/data", "value": data}]
        self.bed.core.patch_namespaced_secret(self.name, NAMESPACE, change)

    def versions(self) -> tuple[str, str]:
        """The resource versions of both objects."""
        configuration = self.hooks.read_validating_webhook_configuration(self.name)
        secret = self.bed.core.read_namespaced_secret(self.name, NAMESPACE)
        return configuration.metadata.resource_version, secret.metadata.resource_version

    def played(self, story: Callable[["Chart", KubernetesApi], Awaitable[None]]) -> None:
        """Carry a story out with a connection."""

        async def play() -> None:
            configuration = aio.Configuration()
            await load_kube_config(str(self._kubeconfig), client_configuration=configuration)
            cluster = KubernetesApi(aio.ApiClient(configuration))
            try:
                await story(self, cluster)
            finally:
                await cluster.close()

        asyncio.run(play())


class Replica:
    """One operator's part; it holds the Lease or not."""

    def __init__(
        self, chart: Chart, cluster: KubernetesApi, *, holds: bool = False, hosts: tuple[str, ...] = HOSTS
    ) -> None:
        self.fence, self.tls, self.reach = Fence(), ServerTls(), Reach()
        if holds:
            self.fence.open(clock() + 3600)
        self.keeper = CertificateKeeper(
            cluster, self.fence, NAMESPACE, chart.name, hosts, self.tls, self.reach, lambda: chart.now
        )

    async def steps(self, count: int = 3) -> "Replica":
        for _ in range(count):
            await self.keeper.step()
        return self

    @property
    def is_ready(self) -> bool:
        return not self.reach.problem


class Overtaken:
    """A connection on which another replica carries out its steps right after the configuration was read."""

    def __init__(self, cluster: KubernetesApi, other: Replica) -> None:
        self._cluster, self._others = cluster, [other]

    async def get(self, kind: Kind, namespace: str, name: str) -> Any:
        known = await self._cluster.get(kind, namespace, name)
        if kind == WEBHOOKS:
            while self._others:
                await self._others.pop().steps()
        return known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)


@pytest.fixture
def chart(bed: Bed, request: pytest.FixtureRequest) -> Any:
    chart = Chart(bed, f"webhook-{abs(hash(request.node.nodeid)):x}")
    yield chart
    chart.remove()


def test_of_replicas_that_begin_at_once_all_serve_the_certificate_of_one(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        for _ in range(5):
            chart.write(None)
            replicas = [Replica(chart, cluster, holds=number == 0) for number in range(3)]
            for _ in range(3):
                await asyncio.gather(*(each.keeper.step() for each in replicas))
            await asyncio.gather(*(each.steps() for each in replicas))
            mine = chart.certificates()
            assert mine is not None
            assert [each.tls.serving for each in replicas] == [mine] * 3
            assert all(each.is_ready for each in replicas)
            assert mine.authorities in chart.trusted()
        chart.now += OVERLAP
        await replicas[0].steps(1)
        assert chart.trusted() == {mine.authorities}

    chart.played(story)


def test_a_replica_that_was_overtaken_withdraws_no_authority(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        first = Replica(chart, cluster, holds=True)
        overtaken: Any = Overtaken(cluster, first)
        late = Replica(chart, overtaken)
        await late.steps(1)
        assert first.is_ready
        assert not late.is_ready
        assert first.tls.serving is not None
        assert chart.trusted() == {first.tls.serving.authorities}
        await late.steps(1)
        assert late.is_ready
        assert late.tls.serving == first.tls.serving

    chart.played(story)


def test_a_replica_that_cannot_load_a_good_certificate_replaces_none(
    chart: Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        holder = await Replica(chart, cluster, holds=True).steps()
        versions = chart.versions()
        standby = Replica(chart, cluster)

        def refuse(_: Certificates) -> None:
            raise OSError(24, "too many open files")

        monkeypatch.setattr(standby.tls, "load", refuse)
        await standby.steps(5)
        assert chart.versions() == versions
        assert "too many open files" in standby.reach.problem
        assert holder.is_ready

    chart.played(story)


def test_while_the_secret_cannot_be_written_no_authority_is_withdrawn(chart: Chart) -> None:
    async def begun(chart: Chart, cluster: KubernetesApi) -> None:
        await Replica(chart, cluster, holds=True).steps()

    chart.played(begun)
    old = chart.certificates()
    assert old is not None
    chart.write(None)
    chart.user(f"{chart.name}-reader", to_webhook_secret(chart.name, certificates="cert-manager"))

    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        replicas = [Replica(chart, cluster, holds=True), Replica(chart, cluster)]
        for _ in range(5):
            for each in replicas:
                with pytest.raises(ApiRejection):
                    await each.keeper.step()
            chart.now += OVERLAP
        assert old.authorities in chart.trusted()
        assert len(chart.trusted()) == 3
        assert not any(each.is_ready for each in replicas)

    chart.played(story)


def test_a_certificate_that_has_ended_is_replaced_before_a_replica_is_ready(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        for holds in (False, True):
            ended = issue(HOSTS, chart.now - LIFETIME - timedelta(days=1))
            chart.write(ended)
            replica = await Replica(chart, cluster, holds=holds).steps(1)
            assert not replica.is_ready
            await replica.steps(1)
            assert replica.is_ready
            assert chart.certificates() == replica.tls.serving != ended

    chart.played(story)


def test_a_certificate_without_its_authority_makes_no_replica_ready(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        chart.write(replace(issue(HOSTS, chart.now), authorities=b""))
        replica = await Replica(chart, cluster).steps(1)
        assert not replica.is_ready
        await replica.steps(2)
        assert replica.is_ready
        assert replica.tls.serving is not None
        assert replica.tls.serving.authorities in chart.trusted()

    chart.played(story)


def test_a_replica_on_standby_publishes_an_authority_that_api_servers_do_not_know(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        known = issue(HOSTS, chart.now)
        chart.write(known)
        replica = await Replica(chart, cluster).steps(1)
        assert replica.is_ready
        assert chart.trusted() == {known.authorities}
        assert chart.certificates() == known

    chart.played(story)


def test_with_certificates_of_another_writer_a_replica_is_ready_once_it_serves_one(chart: Chart) -> None:
    async def story(chart: Chart, cluster: KubernetesApi) -> None:
        replica = await Replica(chart, cluster, holds=True, hosts=()).steps(2)
        assert not replica.is_ready
        chart.write(replace(issue(HOSTS, chart.now - LIFETIME), authorities=b""))
        assert not (await replica.steps(1)).is_ready
        chart.write(replace(issue(HOSTS, chart.now), authorities=b""))
        assert (await replica.steps(1)).is_ready
        assert chart.trusted() == set()

    chart.played(story)
