"""The OpenTelemetry spans of this process; azure-core keeps the first provider that it finds, so tests share one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from azure.core.settings import settings
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@cache
def span_exporter() -> InMemorySpanExporter:
    """Return the exporter that holds the finished spans; clear it before use."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


async def spans_of(work: Callable[[], Awaitable[object]]) -> list[tuple[Any, ...]]:
    """Do some work, and return the name, the kind, the status and the parent's name of each span that it makes."""
    exporter = span_exporter()
    exporter.clear()
    settings.tracing_enabled.set_value(True)
    try:
        await work()
    finally:
        settings.tracing_enabled.unset_value()
    made = exporter.get_finished_spans()
    exporter.clear()
    names = {span.context.span_id: span.name for span in made}
    return [
        (span.name, span.kind, span.status.status_code, span.parent and names[span.parent.span_id]) for span in made
    ]
