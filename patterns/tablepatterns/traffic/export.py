"""Export traffic to pandas or OpenTelemetry. Both are optional."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..extras import importing
from .request import Request

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


def dataframe(requests: Iterable[Request]) -> Any:
    with importing("a DataFrame needs", extra="plot"):
        pandas: Any = import_module("pandas")
    return pandas.DataFrame([_row(request) for request in requests], columns=list(_COLUMNS))


_COLUMNS = (
    *("moment", "file", "line", "function", "service", "operation", "resource", "partition", "query_class", "status"),
    *("transactions", "bytes_in", "bytes_out", "seconds", "attempt", "examined"),
)


def _row(request: Request) -> list[object]:
    query_class = request.query_class.label if request.query_class is not None else None
    site = request.site._asdict() if request.site else {}
    own = {"query_class": query_class, "file": None, "line": None, "function": None, **site}
    return [own[name] if name in own else getattr(request, name) for name in _COLUMNS]


def metrics(requests: Iterable[Request], meter: Meter | None) -> None:
    """Add requests to the metrics of a meter, without partitions and lines of code, whose number is unbounded."""
    used_meter = _installed() if meter is None else meter
    count = used_meter.create_counter("tablepatterns.requests", "{request}", "Requests to Azure Storage")
    billed = used_meter.create_counter("tablepatterns.transactions", "{transaction}", "Storage transactions billed")
    size_in = used_meter.create_counter("tablepatterns.bytes_in", "By", "Bytes of request bodies")
    size_out = used_meter.create_counter("tablepatterns.bytes_out", "By", "Bytes of response bodies")
    seconds = used_meter.create_histogram("tablepatterns.seconds", "s", "Seconds until the response")
    for request in requests:
        attributes = _attributes(request)
        count.add(1, attributes)
        billed.add(request.transactions, attributes)
        size_in.add(request.bytes_in, attributes)
        size_out.add(request.bytes_out, attributes)
        seconds.record(request.seconds, attributes)


def _attributes(request: Request) -> dict[str, str]:
    query_class = None if request.query_class is None else request.query_class.label
    optional = {"resource": request.resource, "query_class": query_class}
    attributes = {"service": request.service, "operation": request.operation, "status": str(request.status)}
    return attributes | {name: value for name, value in optional.items() if value is not None}


def _installed() -> Meter:
    with importing("metrics need", hint="pip install opentelemetry-api, or pass a meter"):
        api: Any = import_module("opentelemetry.metrics")
    installed_meter: Meter = api.get_meter("tablepatterns")
    return installed_meter
