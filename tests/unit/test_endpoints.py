"""A driver over HTTP: health, readiness, metrics, status; asked as a kubelet asks."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest
from harness.clock import OwnClock
from harness.waiting import LIMIT
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.driver.driver_state import PATIENCE, DriverStage, DriverState
from mainstem.runtime.driver.endpoints import Answers, Endpoints
from mainstem.runtime.driver.status_report import ExecutorCounts
from prometheus_client.parser import text_string_to_metric_families
from unit.builders import BUSY, OFFSETS


@pytest.fixture
def clock() -> OwnClock:
    return OwnClock()


@pytest.fixture
def driver(clock: OwnClock) -> DriverState:
    return DriverState([QueryProgress("copy")], clock)


@pytest.fixture
def url(driver: DriverState) -> Iterator[str]:
    endpoints = Endpoints(Answers("flights", "team", 3, driver), 0, "127.0.0.1")
    endpoints.start()
    yield f"http://127.0.0.1:{endpoints.port}"
    endpoints.close()


def ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=LIMIT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def body_of(url: str) -> Any:
    return json.loads(ask(url)[1])


def test_a_starting_driver_is_healthy_and_not_ready(url: str) -> None:
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK
    assert ask(f"{url}/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert body_of(f"{url}/readyz") == {
        "ready": False,
        "stage": "Starting",
        "notActive": {"copy": "Starting"},
    }


def test_a_driver_is_ready_when_all_queries_are_active(url: str, driver: DriverState) -> None:
    driver.update([BUSY, QueryProgress("other")])
    assert body_of(f"{url}/readyz")["notActive"] == {"other": "Starting"}
    driver.update([BUSY, replace(BUSY, name="other", idle=True)])
    assert ask(f"{url}/readyz")[0] == HTTPStatus.OK
    driver.update([BUSY, replace(BUSY, name="other", state=QueryState.FAILED)])
    assert ask(f"{url}/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE


def test_an_ending_driver_is_healthy_and_not_ready(url: str, driver: DriverState) -> None:
    driver.jvm_alive = lambda: False
    driver.update([BUSY])
    driver.ending()
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK
    assert ask(f"{url}/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE


def test_a_driver_without_its_jvm_is_not_healthy(url: str, driver: DriverState) -> None:
    driver.update([BUSY])
    driver.jvm_alive = lambda: False
    assert ask(f"{url}/healthz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert body_of(f"{url}/healthz")["message"] == "Spark's JVM has ended"


def test_a_driver_with_a_stuck_loop_is_not_healthy(url: str, driver: DriverState, clock: OwnClock) -> None:
    driver.update([BUSY])
    clock.advance(PATIENCE[DriverStage.RUNNING])
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK
    clock.advance(1)
    assert ask(f"{url}/healthz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert "the supervisor has not run for 61 s while running" in body_of(f"{url}/healthz")["message"]
    driver.update([BUSY])
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK


@pytest.mark.parametrize("kind", [QueryState.STARTING, QueryState.RESTARTING])
def test_a_restarting_query_may_block_the_loop(
    url: str, driver: DriverState, clock: OwnClock, kind: QueryState
) -> None:
    """It asks a store for its checkpoint, and one that swallows packets takes minutes to say no."""
    driver.update([BUSY, replace(BUSY, name="other", state=kind)])
    clock.advance(PATIENCE[DriverStage.STARTING])
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK
    clock.advance(1)
    assert ask(f"{url}/healthz")[0] == HTTPStatus.SERVICE_UNAVAILABLE


def test_the_status_is_the_report_with_offsets(url: str, driver: DriverState) -> None:
    driver.update([replace(BUSY, idle=True, message="secretKey=abc")])
    driver.executors = ExecutorCounts(1, 2)
    status = body_of(f"{url}/status")
    assert (status["pipeline"], status["namespace"], status["attempt"]) == ("flights", "team", 3)
    assert status["summary"]["executors"] == "1/2"
    [query] = status["queries"]
    assert (query["state"], query["lag"], query["message"]) == ("Idle", 103, "secretKey=*****")
    assert query["sources"][0]["endOffset"] == OFFSETS


def test_unknown_paths_are_not_found(url: str) -> None:
    assert ask(f"{url}/")[0] == HTTPStatus.NOT_FOUND
    assert "/metrics" in body_of(f"{url}/nothing")["paths"]


def test_an_invalid_request_does_not_stop_the_server(url: str) -> None:
    import socket

    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as odd:
        odd.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        odd.recv(100)
    assert ask(f"{url}/healthz")[0] == HTTPStatus.OK


def samples(url: str) -> dict[tuple[str, ...], float]:
    values = {}
    for family in text_string_to_metric_families(ask(f"{url}/metrics")[1]):
        for sample in family.samples:
            assert sample.labels.pop("pipeline") == "flights"
            values[sample.name, *sample.labels.values()] = sample.value
    return values


def test_metrics_have_stable_names(url: str, driver: DriverState) -> None:
    driver.update([replace(BUSY, watermark="1971-01-01T00:00:00.000Z")])
    driver.executors = ExecutorCounts(1, 2)
    values = samples(url)
    expected = {
        ("mainstem_ready",): 1,
        ("mainstem_attempt",): 3,
        ("mainstem_executors_running",): 1,
        ("mainstem_executors_wanted",): 2,
        ("mainstem_query_state", "copy", "Running"): 1,
        ("mainstem_query_state", "copy", "Failed"): 0,
        ("mainstem_query_batch", "copy"): 7,
        ("mainstem_query_batches_total", "copy"): 8,
        ("mainstem_query_input_rows_total", "copy"): 120,
        ("mainstem_query_dropped_rows_total", "copy"): 2,
        ("mainstem_query_rows_per_second", "copy"): 1234.5,
        ("mainstem_query_batch_duration_seconds", "copy"): 1.25,
        ("mainstem_query_lag_records", "copy"): 103,
        ("mainstem_query_last_progress_timestamp_seconds", "copy"): 1767225600,
        ("mainstem_query_state_rows", "copy"): 12,
        ("mainstem_query_state_bytes", "copy"): 4096,
        ("mainstem_query_restarts", "copy"): 0,
        ("mainstem_source_lag_records", "copy", "orders"): 103,
        ("mainstem_source_lag_max_records", "copy", "orders"): 100,
        ("mainstem_source_partitions", "copy", "orders"): 2,
        ("mainstem_source_decoded_records_total", "copy", "orders"): 119,
        ("mainstem_source_malformed_records_total", "copy", "orders"): 1,
    }
    assert {key: values[key] for key in expected} == expected
    assert values["mainstem_query_watermark_lag_seconds", "copy"] > 50 * 365 * 24 * 3600
    assert sum(value for key, value in values.items() if key[0] == "mainstem_query_state") == 1


def test_a_watermark_out_of_range_hides_no_other_metric(url: str, driver: DriverState) -> None:
    driver.update([replace(BUSY, watermark="+54321-01-01T00:00:00.000Z")])
    values = samples(url)
    assert values["mainstem_query_batch", "copy"] == 7
    assert ("mainstem_query_watermark_lag_seconds", "copy") not in values


def test_unknown_values_have_no_sample(url: str) -> None:
    metrics_shown = {key[0] for key in samples(url)}
    assert metrics_shown.isdisjoint(
        {"mainstem_query_lag_records", "mainstem_query_batch", "mainstem_executors_wanted"}
    )
