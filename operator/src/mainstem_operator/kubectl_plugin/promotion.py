"""Promotes the changed document of a pipeline that is on trial."""

from collections.abc import Mapping
from typing import Any

from mainstem import reasons
from mainstem.cluster.user_api import UserApi
from mainstem.errors import NotReady
from mainstem.language.model.status.trial_status import HOLDING


def promote(api: UserApi, pipeline: str) -> str:
    """Set `spec.trial.promote` to the revision on trial; returns what happens, for people.

    Raises:
        NotReady: `NothingOnTrial`, or the API server does not answer or rejects a request.
    """
    trial = on_trial(pipeline, api.pipeline(pipeline))
    api.change(pipeline, {"trial": {"promote": trial["revision"]}})
    return f"{pipeline}: the driver takes revision {trial['revision']} over; its trial: {trial['phase']}: {trial['message']}"


def on_trial(pipeline: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trial of a pipeline that waits for a decision.

    Raises:
        NotReady: `NothingOnTrial`.
    """
    trial: Mapping[str, Any] = body.get("status", {}).get("trial", {})
    if trial.get("phase") in HOLDING:
        return trial
    last = (
        f"its last trial, of revision {trial['revision']}, is {trial['phase']}"
        if trial
        else "it has no trial"
    )
    raise NotReady(
        f"the pipeline {pipeline} has no document on trial: {last}",
        reason=reasons.NOTHING_ON_TRIAL,
        remedy="change its document while spec.trial is set, and look at status.trial",
    )
