"""Every metric of a driver: name, type, help, labels and value, as in the golden file.

The golden file is written again by `python -m unit.test_metrics` in `tests`.
"""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from harness.clock import OwnClock
from mainstem.language.model.status.fields import Metric
from mainstem.language.model.status.progress_parts import ExpectationProgress, SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.metrics import Metrics
from mainstem.runtime.driver.status_report import ExecutorCounts
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from unit.builders import BUSY


GOLDEN = Path(__file__).parent / "golden" / "metrics.txt"


def exposition() -> str:
    """The metrics of a busy query and of a new one."""
    busy = replace(BUSY, expectations=(ExpectationProgress("v", "has_id", 3, 5),))
    driver = DriverState([busy, QueryProgress("other")], OwnClock())
    driver.executors = ExecutorCounts(1, 2)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Metrics("flights", 3, driver))
    return generate_latest(registry).decode()


def test_metrics_are_those_of_the_golden_file() -> None:
    assert exposition() == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [QueryProgress, SourceProgress, ExpectationProgress])
def test_no_two_fields_have_one_metric(kind: type) -> None:
    metrics = [field.metadata["metric"] for field in fields(kind) if field.metadata.get("metric")]
    assert metrics
    assert all(isinstance(metric, Metric) for metric in metrics)
    assert len({metric.name for metric in metrics}) == len(metrics)


if __name__ == "__main__":
    GOLDEN.write_text(exposition(), encoding="utf-8")
