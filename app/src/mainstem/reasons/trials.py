"""Reasons of trials with `spec.trial`: of `status.trial`, of the condition `DocumentApplied`, and of events."""

from typing import Final

from mainstem.reasons.reason import Reason


_PROMOTE: Final = (
    "To apply the changed document anyway, run `kubectl mainstem promote NAME`. To discard it, undo the change or make "
    "another one."
)
TRIAL_PENDING: Final = Reason(
    "TrialPending",
    "The trial of the changed document has not started: the running document must be healthy first. The message shows what "
    "is missing. The document before runs on.",
    f"Wait, or remove what keeps the running document from being healthy. {_PROMOTE}",
)
TRIAL_RUNNING: Final = Reason(
    "TrialRunning",
    "The pod `NAME-trial` tries the changed document. The document before runs on.",
    "Wait. `kubectl logs -f NAME-trial` shows the trial.",
)
TRIAL_PASSED: Final = Reason(
    "TrialPassed",
    "Both documents wrote the same rows in the trial. With `promotion: Manual` the changed document waits for a person.",
    "Apply it with `kubectl mainstem promote NAME`, or undo the change.",
)
TRIAL_DIFFERS: Final = Reason(
    "TrialDiffers",
    "The changed document wrote other rows or columns in the trial, or one of its queries failed. `status.trial.queries` has "
    "the numbers, and the log of the pod `NAME-trial` has examples. The document before runs on.",
    f"Compare the difference with what you want. {_PROMOTE}",
)
TRIAL_FAILED: Final = Reason(
    "TrialFailed",
    "The trial of the changed document has no result; the message has the cause. The document before runs on. The operator "
    "does not try the same revision again until the document, `trial.batches`, `trial.timeout` or `restartNonce` changes.",
    f"Remove the cause, and change one of these fields. {_PROMOTE}",
)
TRIAL_TIMED_OUT: Final = Reason(
    "TrialTimedOut",
    "The trial took longer than `trial.timeout`.",
    "Set a longer `trial.timeout`, fewer `trial.batches`, or more `driver.resources`. The operator then tries again.",
)
TRIAL_NO_RESULT: Final = Reason(
    "TrialNoResult",
    "The trial pod ended without a result that the operator can read.",
    "Read the log of the pod. Its image may be older than the operator.",
)
TRIAL_PROMOTED: Final = Reason(
    "TrialPromoted",
    "The changed document is applied after its trial: by `trial.promote`, or by `promotion: Automatic` after a trial that has "
    "passed.",
    "Do nothing.",
)
TRIAL_SKIPPED: Final = Reason(
    "TrialSkipped",
    "There was no trial, and the changed document is applied at once. The message has the cause: no driver runs, the running "
    "revision was not healthy, no query restarts, or the queries have no checkpoints yet.",
    "Do nothing, or compare the documents with `mainstem trial`.",
)
TRIAL_DISCARDED: Final = Reason(
    "TrialDiscarded",
    "The document has changed again, so the operator does not apply the tried revision.",
    "Do nothing.",
)
