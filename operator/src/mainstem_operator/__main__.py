"""The command `mainstem-operator`, also `python -m mainstem_operator`: it runs until a signal."""

import asyncio
import gc
import os
import sys
from typing import Final

import click
from mainstem import reasons
from mainstem.errors import MainstemError, NotReady
from mainstem.names import CRD_REVISION, GROUP, PLURAL, SCHEMA
from prometheus_client import start_http_server

from mainstem_operator import logs
from mainstem_operator.api.kubernetes_api import DEFINITION, ApiError, KubernetesApi
from mainstem_operator.service import serve
from mainstem_operator.settings import Settings


_RIGHTS: Final = "let the operator's service account get it; the chart's ClusterRole does"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mainstem-operator", prog_name="mainstem-operator")
def main() -> None:
    """Watch StreamingPipeline resources and run them.

    Settings come from environment variables: MAINSTEM_DRIVER_IMAGE, and those of the chart's values.
    """
    try:
        settings = Settings.from_environment(os.environ)
        logs.configure(settings.log_format, settings.log_level)
        asyncio.run(_definition())
    except MainstemError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    run(settings)


def run(settings: Settings) -> None:
    """Run with these settings, until a signal."""
    gc.collect()
    gc.freeze()  # imported modules stay; reference counting frees nearly everything else
    gc.set_threshold(20_000, 20, 20)
    start_http_server(settings.metrics_port)
    asyncio.run(serve(settings))


async def _definition() -> None:
    """Check that the CustomResourceDefinition exists and is not older than this operator.

    Raises:
        NotReady: `DefinitionMissing`, `DefinitionTooOld`, `DefinitionUnreadable`, `ApiServerUnreachable`.
    """
    cluster = await KubernetesApi.connect(None)
    try:
        definition = await cluster.get(DEFINITION, "", f"{PLURAL}.{GROUP}")
    except (OSError, TimeoutError) as error:  # aiohttp's errors are OSErrors if no server answers
        raise NotReady(
            f"the API server does not answer: {error}", reason=reasons.OPERATOR_API_SERVER_UNREACHABLE
        ) from None
    except ApiError as error:
        raise NotReady(
            f"the operator cannot read the CustomResourceDefinition {PLURAL}.{GROUP}: {error}",
            reason=reasons.DEFINITION_UNREADABLE,
            remedy=_RIGHTS,
        ) from None
    finally:
        await cluster.close()
    remedy = "run `kubectl apply --server-side -f k8s/crd`, or upgrade the chart with crd.install: true"
    if definition is None:
        message = f"the cluster has no CustomResourceDefinition {PLURAL}.{GROUP}"
        raise NotReady(message, reason=reasons.DEFINITION_MISSING, remedy=remedy)
    revision = int(definition["metadata"].get("annotations", {}).get(SCHEMA, 0))
    if revision < CRD_REVISION:
        message = (
            f"the CustomResourceDefinition {PLURAL}.{GROUP} has revision {revision}; "
            f"this operator needs revision {CRD_REVISION} or a later one"
        )
        raise NotReady(message, reason=reasons.DEFINITION_TOO_OLD, remedy=remedy)


if __name__ == "__main__":
    main()
