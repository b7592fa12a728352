"""The example of OpenTelemetry: spans of the SDK below the application's own, metrics of requests and messages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from azure.core import __version__ as core_version
from azure.core.settings import settings
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from support.example_programs import EXAMPLES, example
from support.spans import span_exporter
from tablepatterns import QueryClass, Storage, connect
from tablepatterns_engine import Engine

FOLDER = EXAMPLES / "telemetry"
TELEMETRY = example("telemetry", "telemetry")
HAS_TRACING = tuple(map(int, core_version.split(".")[:2])) >= (1, 33)
NEEDS_TRACING = pytest.mark.skipif(not HAS_TRACING, reason="azure-core traces without a plugin from 1.33 on")


@pytest.fixture
def metrics(engine: Engine) -> dict[str, list[Any]]:
    """The points of each metric after one order."""
    reader = InMemoryMetricReader()
    with connect(engine) as storage:
        TELEMETRY.take_order(storage, TracerProvider().get_tracer("shop"), MeterProvider([reader]).get_meter("shop"))
    return points_of(reader)


def points_of(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    found = reader.get_metrics_data()
    assert found is not None
    (resource,) = found.resource_metrics
    return {metric.name: list(metric.data.data_points) for scope in resource.scope_metrics for metric in scope.metrics}


def test_the_metrics_count_messages_and_requests(metrics: dict[str, list[Any]]) -> None:
    (message,) = metrics["worker.messages"]
    assert (dict(message.attributes), message.value) == ({"queue": "shipping", "outcome": "handled"}, 1)
    (listing,) = [
        point for point in metrics["tablepatterns.requests"] if point.attributes["operation"] == "QueryEntities"
    ]
    assert dict(listing.attributes)["query_class"] == "range query"


def test_a_message_that_fails_is_counted_as_such() -> None:
    reader = InMemoryMetricReader()
    observer = TELEMETRY.WorkerMetrics(MeterProvider([reader]).get_meter("shop"))
    observer.failed("shipping", "ship", "a reason", 0.5)
    observer.poisoned("shipping", "a reason")
    observer.lost("shipping", "ship")
    points = points_of(reader)
    assert sorted(str(point.attributes["outcome"]) for point in points["worker.messages"]) == [
        "failed",
        "lost",
        "poisoned",
    ]


@pytest.fixture
def storage(engine: Engine) -> Iterator[Storage]:
    with connect(engine) as storage:
        yield storage


@NEEDS_TRACING
def test_each_request_has_a_span_below_that_of_the_application(storage: Storage, engine: Engine) -> None:
    exporter = span_exporter()
    exporter.clear()
    settings.tracing_enabled = True
    try:
        tracer, meter = trace.get_tracer("shop"), MeterProvider().get_meter("shop")
        with engine.ledger.span() as span:
            TELEMETRY.take_order(storage, tracer, meter)
    finally:
        settings.tracing_enabled = False
    spans = exporter.get_finished_spans()
    requests = [each for each in spans if "http.request.method" in (each.attributes or {})]
    assert len(requests) == span.totals.requests
    # That of the message that starts the shipping is outside any
    assert {each.name for each in spans if each.parent is None} >= {"take order", "list orders", "work"}


@NEEDS_TRACING
def test_the_program_prints_spans_and_metrics() -> None:
    command = [sys.executable, str(FOLDER / "telemetry.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    assert {"take order", "list orders", "work"} <= set(lines)
    assert "  TableClient.get_entity" in lines
    assert lines[-2:] == ["worker.messages", "worker.seconds"]


def test_the_dashboard_asks_for_metrics_that_exist(metrics: dict[str, list[Any]]) -> None:
    queries = (FOLDER / "dashboard.kql").read_text(encoding="utf-8")
    names = set(re.findall(r'and Name == "([\w.]+)"', queries))
    assert names
    assert names <= metrics.keys()
    for name, attribute in re.findall(r'and Name == "([\w.]+)".*?Properties\.(\w+)', queries, re.DOTALL):
        assert any(attribute in point.attributes for point in metrics[name]), (name, attribute)
    assert {QueryClass.PARTITION_SCAN.label, QueryClass.TABLE_SCAN.label} <= set(re.findall(r'"([^"]+)"', queries))
