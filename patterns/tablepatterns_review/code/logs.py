"""Write the blob logs of a design as Python, and the tests that hold the costs of their access patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import timedelta
from math import ceil
from typing import Final

from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, prefixes

from ..design.model import DeclaredLog, LogOptions, LogRead, LogWrite, Query, Write
from ..measure.log_pace import line_bytes, pace_of
from ..measure.sample import NOW
from .layout import Brackets, Expression, call, declared, lines_of, listed, text

_SECONDS: Final = {"flush_seconds": "flush_age", "ahead_seconds": "ahead"}
_OF_DESIGN: Final = ("name", "container", "service", "size", "count", "retention_days")
"""The options of a log that are no arguments of the recipe."""
_AN_HOUR_AGO: Final = "NOW - timedelta(hours=1)"


def log_call(log: DeclaredLog) -> Brackets:
    """Return the call that makes the recipe of a log."""
    options: dict[str, Expression] = {}
    for field in fields(LogOptions):
        value = getattr(log, field.name)
        if field.name in _OF_DESIGN or (field.default is not MISSING and value == field.default):
            continue
        is_span = field.name in _SECONDS
        options[_SECONDS.get(field.name, field.name)] = (
            call("timedelta", seconds=repr(value)) if is_span else repr(value)
        )
    return call("BlobLog", "storage", text(log.container), text(log.prefix), **options)


def declaration(log: DeclaredLog, attribute: str) -> Brackets:
    """Return the call that declares a log for a review."""
    options: dict[str, Expression | None] = {
        name: None if (value := getattr(log, name)) is None else repr(value) for name in ("count", "retention_days")
    }
    options |= {
        name: listed(map(declared, values)) if values else None
        for name, values in (("writes", log.writes), ("reads", log.reads))
    }
    return call("declare_log", f"sets.{attribute}", name=text(log.name), size=str(log.size), **options)


def stored(attribute: str) -> Iterator[str]:
    """Yield the lines that store an entry, an hour ago."""
    entry = call(f"sets.{attribute}.append", text("INFO"), text("an hour ago"), at=_AN_HOUR_AGO)
    yield from lines_of("", entry, indent=4)
    yield f"    sets.{attribute}.flush()"


def test_of(log: DeclaredLog, access: Query | Write, attribute: str) -> tuple[list[str], int]:
    """Return the lines of the test of an access pattern, and how many transactions its call takes."""
    if isinstance(access, Query):
        return _of_read(log, log.read(access), attribute)
    return _of_write(log, log.write(access), attribute)


def _of_write(log: DeclaredLog, write: LogWrite, attribute: str) -> tuple[list[str], int]:
    """Return the lines that fill and flush a buffer, and how many transactions that takes."""
    buffered = pace_of(log, write).buffered
    append = f'sets.{attribute}.append("INFO", "x" * {log.size})'
    lines = ["    with Traffic(storage) as traffic:"]
    if buffered == 1:
        lines.append(f"        {append}")
    else:
        lines += [f"        for _ in range({buffered}):", f"            {append}"]
    lines.append(f"        sets.{attribute}.flush()")
    # The first flush of an hour creates a blob
    blocks = ceil(buffered / max(1, BLOCK_BYTES // line_bytes(log)))
    return lines, 2 * blocks


def _of_read(log: DeclaredLog, read: LogRead, attribute: str) -> tuple[list[str], int]:
    """Return the lines that read a time span, and how many transactions that takes."""
    begin = NOW - timedelta(hours=1)
    lists = len(list(prefixes(log.prefix, begin, begin + timedelta(seconds=read.seconds))))
    lines = [f"    begin = {_AN_HOUR_AGO}", "    with Traffic(storage) as traffic:"]
    brackets = call("list", call(f"sets.{attribute}.between", "begin", f"begin + timedelta(seconds={read.seconds!r})"))
    return [*lines, *lines_of("found = ", brackets, indent=8), "    assert found"], lists + 1
