"""Write the blob logs of a design as Python, and the tests that hold the costs of their access patterns."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from math import ceil
from typing import Final

from tablepatterns.recipes.blob_log.blob_log import BLOCK_BYTES, prefixes

from ..design.model import DeclaredLog, LogOptions, Query, Write
from ..measure.log_pace import line_bytes, pace_of
from ..measure.sample import NOW
from ..python_source import array, call, declaration, text

_SECONDS: Final = {"flush_seconds": "flush_age", "ahead_seconds": "ahead"}
_OF_DESIGN: Final = ("name", "container", "service", "size", "count", "retention_days")
"""The options of a log that are no arguments of the recipe."""
_AN_HOUR_AGO: Final = "NOW - timedelta(hours=1)"


def log_call(log: DeclaredLog) -> str:
    """Return the call that makes the recipe of a log."""
    options: dict[str, str] = {}
    for field in fields(LogOptions):
        value = getattr(log, field.name)
        if field.name in _SECONDS and value != field.default:
            options[_SECONDS[field.name]] = call("timedelta", seconds=repr(value))
        elif field.name not in _OF_DESIGN and value != field.default:
            options[field.name] = repr(value)
    return call("BlobLog", "storage", text(log.container), text(log.prefix), **options)


def declaration_of(log: DeclaredLog, attribute: str) -> str:
    """Return the call that declares a log for a review."""
    numbers = {"count": log.count, "retention_days": log.retention_days}
    options = {name: repr(value) for name, value in numbers.items() if value is not None}
    accesses = {"writes": log.writes, "reads": log.reads}
    options |= {name: array(map(declaration, values)) for name, values in accesses.items() if values}
    return call("declare_log", f"sets.{attribute}", name=text(log.name), size=str(log.size), **options)


def stored(attribute: str) -> list[str]:
    """Return the lines that store an entry, an hour ago."""
    entry = call(f"sets.{attribute}.append", text("INFO"), text("an hour ago"), at=_AN_HOUR_AGO)
    return [entry, f"sets.{attribute}.flush()"]


def calls_of_test(log: DeclaredLog, access: Query | Write, attribute: str) -> tuple[list[str], int]:
    """Return the lines that make a call of an access pattern, and how many transactions it takes."""
    if isinstance(access, Query):
        seconds, begin = log.read(access).seconds, NOW - timedelta(hours=1)
        lists = len(list(prefixes(log.prefix, begin, begin + timedelta(seconds=seconds))))
        ends = (_AN_HOUR_AGO, f"{_AN_HOUR_AGO} + timedelta(seconds={seconds!r})")
        return [f"found = {call('list', call(f'sets.{attribute}.between', *ends))}"], lists + 1
    buffered = pace_of(log, log.write(access)).buffered
    # The first flush of an hour creates a blob
    blocks = ceil(buffered / max(1, BLOCK_BYTES // line_bytes(log)))
    entry = f'sets.{attribute}.append("INFO", "x" * {log.size})'
    entries = [entry] if buffered == 1 else [f"for _ in range({buffered}):", f"    {entry}"]
    return [*entries, f"sets.{attribute}.flush()"], 2 * blocks
