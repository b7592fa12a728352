"""Changes of blob logs, and of sets that are logs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any, Final

from tablepatterns.figures import number

from ..design.model import DeclaredLog, DeclaredSet, Design, Field, FieldType, LogOptions, LogRead, LogWrite, Query
from ..measure.sample import equal, found_by
from .changes import Change

_TEXT: Final[dict[FieldType, int]] = {
    "int32": 8,
    "int64": 12,
    "double": 12,
    "boolean": 5,
    "datetime": 27,
    "guid": 36,
}
"""The usual characters of a value of a fixed size."""
_LATER: Final = (60.0, 300.0)
_FLUSHED: Final = 10.0
_CONTAINER: Final = 63


def as_log(declared_set: DeclaredSet, design: Design) -> DeclaredLog | None:
    """Return a set as a blob log; None if it is changed, has other parts, or is not only read by time spans."""
    other_names = {name for other in design.sets for write in other.writes for name in write.atomic_with}
    rate, shape = sum(write.rate for write in declared_set.writes), declared_set.shape
    if declared_set.derived or declared_set.mappings or declared_set.access or not rate:
        return None
    for write in declared_set.writes:
        if write.operation != "insert" or write.atomic_with or write.name in other_names:
            return None
    reads = [_as_read(declared_set, query, rate) for query in declared_set.queries]
    if not reads or None in reads:
        return None
    fresh = min((query.max_staleness for query in declared_set.queries if query.max_staleness), default=_FLUSHED)
    return DeclaredLog(
        name=declared_set.name,
        container=_container(declared_set.name),
        service=_container(declared_set.name),
        size=sum(_text_size(name, field) for name, field in shape.fields.items() if field.type != "datetime"),
        count=shape.count,
        retention_days=None if declared_set.retention is None else declared_set.retention.days,
        flush_seconds=min(_FLUSHED, fresh),
        writes=tuple(LogWrite(write.name, write.rate, write.peak, write.writers) for write in declared_set.writes),
        reads=tuple(log_read for log_read in reads if log_read is not None),
    )


def _as_read(declared_set: DeclaredSet, query: Query, rate: float) -> LogRead | None:
    """Return a query as the read of a time span that has as many results; None if it is none."""
    shape = declared_set.shape
    kinds = {name: shape.fields[name].type if name in shape.fields else "string" for name in query.known}
    spans = [name for name, how in query.known.items() if how == "range" and kinds[name] == "datetime"]
    other_names = [name for name, how in query.known.items() if how == "=" and kinds[name] != "datetime"]
    is_simple = query.filter is None and query.take is None and not query.skip and not query.count_only
    if len(spans) != 1 or not is_simple or query.order not in (None, spans[0]) or query.region != "primary":
        return None
    if any(how != "=" for name, how in query.known.items() if name not in spans):
        return None
    share = equal(shape, other_names, 0.0, other_names) / max(1, shape.count) if other_names else 1.0
    seconds = found_by(shape, query) / (rate * max(share, 1e-9))
    return LogRead(query.name, float(f"{seconds:.3g}"), query.rate, query.peak)


def _text_size(name: str, field: Field) -> int:
    size = _TEXT.get(field.type, math.ceil(field.size * 4 / 3) if field.type == "binary" else field.size)
    return len(name) + 2 + size


def _container(name: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", name).lower()).strip("-")
    return f"{words[: _CONTAINER - 4].strip('-') or 'blob'}-log"


def table_of(log: DeclaredLog) -> dict[str, Any]:
    """Return a log as a design file has it; what has its default is left out."""
    table = {
        field.name: getattr(log, field.name)
        for field in fields(LogOptions)
        if field.default is MISSING or getattr(log, field.name) != field.default
    }
    if log.service == log.container:
        del table["service"]
    for name, accesses in (("write", log.writes), ("read", log.reads)):
        table[name] = [{key: value for key, value in vars(access).items() if value is not None} for access in accesses]
    return table


def larger_flushes(log: DeclaredLog) -> Iterator[Change]:
    """Yield the changes with which a flush holds more entries, that which loses the fewest in a crash first."""
    if log.write_through:
        says = f"keep entries in the buffer for up to {log.flush_seconds:g} s; a crash loses them"
        yield _changed(log, says, write_through=False)
        return
    for seconds in _LATER:
        if seconds > log.flush_seconds:
            most = max((log_write.rate / log_write.writers for log_write in log.writes), default=0.0)
            options: dict[str, Any] = {"flush_seconds": seconds}
            says = f"flush entries after {seconds:g} s"
            if (count := math.ceil(most * seconds - 1e-6)) > log.flush_count:
                options["flush_count"] = count
                says += f", or when there are {number(count)}"
            yield _changed(log, f"{says}; a crash loses them", **options)


def _changed(log: DeclaredLog, says: str, **options: Any) -> Change:
    return Change(log.name, says, settings=options, log=replace(log, **options))


RULES_OF_LOGS: Final[dict[str, Callable[[DeclaredLog], Iterator[Change]]]] = {"small-flushes": larger_flushes}
"""The changes that may remove a finding about a blob log."""
