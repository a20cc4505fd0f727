"""The comparison of two documents: which queries belong together, which are new, and which are removed."""

from typing import Any

from mainstem.changes import CheckpointFacts, Effect, compare
from mainstem.language.model.pipeline import StreamingPipeline


def pipeline(*queries: dict[str, Any], location: str = "/checkpoints") -> StreamingPipeline:
    return StreamingPipeline.model_validate(
        {
            "apiVersion": "mainstem.dev/v1alpha1",
            "kind": "StreamingPipeline",
            "metadata": {"name": "p"},
            "spec": {
                "sources": [{"name": "a", "rate": {}}],
                "checkpoints": {"location": location},
                "queries": [
                    {"name": "q", "from": "a", "to": [{"name": "n", "noop": {}}]} | query for query in queries
                ],
            },
        }
    )


def effects(*arguments: Any, **named: Any) -> dict[str, Effect]:
    return {verdict.query: verdict.effect for verdict in compare(*arguments, **named).queries}


def test_a_document_compared_with_itself_is_unchanged() -> None:
    assert effects(pipeline({}), pipeline({})) == {"q": Effect.UNCHANGED}


def test_a_new_query_and_a_new_generation_start_empty() -> None:
    new = pipeline({"checkpoint": {"generation": 2}}, {"name": "r"})
    assert effects(pipeline({}), new) == {"q": Effect.EMPTY, "r": Effect.EMPTY}


def test_another_location_starts_every_query_empty() -> None:
    assert effects(pipeline({}), pipeline({}, location="/elsewhere")) == {"q": Effect.EMPTY}


def test_a_query_that_is_gone_is_removed() -> None:
    assert effects(pipeline({}, {"name": "r"}), pipeline({})) == {"q": Effect.UNCHANGED, "r": Effect.REMOVED}


def test_facts_of_a_checkpoint_need_no_earlier_document() -> None:
    verdict = compare(None, pipeline({}), {"q": CheckpointFacts(partitions=4, provider="rocksdb")})
    [refused] = verdict.refused
    assert [change.path for change in refused.changes] == ["spec.queries[q].state.partitions"]
