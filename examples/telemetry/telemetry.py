"""Traces and metrics with OpenTelemetry, of requests to Azure Storage and of a worker.

    python examples/telemetry/telemetry.py

prints the spans of one order, and the metrics. In production, pass the exporters of your backend to `configure`, such
as those of azure-monitor-opentelemetry-exporter; `dashboard.kql` has the queries of a dashboard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from azure.core.settings import settings
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import Tracer, set_tracer_provider

from tablepatterns import (
    EntitySet,
    EventualTransaction,
    InterPartitionIndex,
    Key,
    Observer,
    Storage,
    Traffic,
    Worker,
    connect,
)

BY_CUSTOMER = InterPartitionIndex(Key("customer_{Customer}", "order_{Day}_{Order:06d}"))


class WorkerMetrics(Observer):
    """Count what a worker does with its messages, and how long that takes."""

    def __init__(self, meter: Meter) -> None:
        self._messages = meter.create_counter("worker.messages", "{message}", "Messages, by queue and outcome")
        self._seconds = meter.create_histogram("worker.seconds", "s", "Seconds for each message, by queue")

    def handled(self, queue: str, kind: str, seconds: float) -> None:
        self._messages.add(1, {"queue": queue, "outcome": "handled"})
        self._seconds.record(seconds, {"queue": queue})

    def failed(self, queue: str, kind: str, reason: object, seconds: float) -> None:
        self._messages.add(1, {"queue": queue, "outcome": "failed"})
        self._seconds.record(seconds, {"queue": queue})

    def poisoned(self, queue: str, reason: object) -> None:
        self._messages.add(1, {"queue": queue, "outcome": "poisoned"})

    def lost(self, queue: str, kind: str) -> None:
        self._messages.add(1, {"queue": queue, "outcome": "lost"})


def configure(exporter: SpanExporter, reader: MetricReader) -> tuple[Tracer, Meter]:
    """Send the spans of this process and of the SDK, and its metrics, to a backend.

    In production, use a BatchSpanProcessor, which does not wait for the backend.
    """
    # The SDK, from azure-core 1.33 on, then creates a span for each of its calls, and one for each HTTP request
    settings.tracing_enabled = True
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    set_tracer_provider(provider)
    return provider.get_tracer("shop"), MeterProvider([reader]).get_meter("shop")


@contextmanager
def measured(storage: Storage, meter: Meter) -> Generator[None, None, None]:
    """Add the requests of a block to the metrics, by operation, query class and status.

    Use it around each job, or each minute of a service: `Traffic` keeps the requests until the block ends.
    """
    with Traffic(storage) as traffic:
        yield
    sent = meter.create_counter("tablepatterns.requests", "{request}", "Requests to Azure Storage")
    billed = meter.create_counter("tablepatterns.transactions", "{transaction}", "Storage transactions billed")
    for request in traffic.requests:
        # Without partitions and lines of code, whose number is unbounded
        query_class = "" if request.query_class is None else request.query_class.label
        attributes = {"service": request.service, "operation": request.operation, "status": str(request.status)}
        attributes |= {"resource": request.resource or "", "query_class": query_class}
        sent.add(1, attributes)
        billed.add(request.transactions, attributes)


def orders_in(storage: Storage) -> EntitySet[Storage]:
    """Return the set of orders, with an index by customer in other partitions."""
    return EntitySet(storage, "Orders", Key("day_{Day}", "order_{Order:06d}"), derived=[BY_CUSTOMER])


def take_order(storage: Storage, tracer: Tracer, meter: Meter) -> None:
    """Store an order, list those of its customer, and let a worker ship it."""
    orders = orders_in(storage)
    shipping = EventualTransaction(storage, "shipping", "ship", [ship])
    worker = Worker(storage, [shipping, orders.reconciler()], observer=WorkerMetrics(meter))
    with measured(storage, meter):
        with tracer.start_as_current_span("take order"):
            orders.insert({"Day": "2026-08-22", "Order": 4711, "Customer": "contoso"})
        with tracer.start_as_current_span("list orders"):
            list(orders.range(BY_CUSTOMER, Customer="contoso"))
        shipping.start({"Order": 4711})
        with tracer.start_as_current_span("work"):
            worker.drain()


def ship(body: Mapping[str, object]) -> None:
    """Ship an order; here, do nothing."""


def one_line(span: ReadableSpan) -> str:
    """Return a span as a line of text."""
    status = dict(span.attributes or {}).get("http.response.status_code", "")
    return f"{'  ' if span.parent else ''}{span.name} {status}".rstrip() + "\n"


def main() -> None:
    """Take one order, and print the spans and the names of the metrics."""
    reader = InMemoryMetricReader()
    tracer, meter = configure(ConsoleSpanExporter(out=sys.stdout, formatter=one_line), reader)
    with connect(os.environ.get("STORAGE", "memory://")) as storage:
        take_order(storage, tracer, meter)
    found = reader.get_metrics_data()
    for resource in found.resource_metrics if found else ():
        for scope in resource.scope_metrics:
            print(*sorted(metric.name for metric in scope.metrics), sep="\n")


if __name__ == "__main__":
    main()
