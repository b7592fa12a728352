"""Limits: the documented values, each defined once."""

from __future__ import annotations

import ast
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tablepatterns import limits
from tablepatterns.edm import Int64, Ticks, entity_size, ordinal, utf16_length

PACKAGE = Path(limits.__file__).parent


@pytest.mark.guide("G-075")
def test_the_limits_are_those_of_the_documents() -> None:
    assert (limits.MAX_PROPERTIES, limits.MAX_CUSTOM_PROPERTIES, limits.MAX_PROPERTY_NAME_LENGTH) == (255, 252, 255)
    assert (limits.MAX_ENTITY_BYTES, limits.MAX_STRING_BYTES, limits.MAX_BINARY_BYTES) == (2**20, 2**16, 2**16)
    assert (limits.MAX_KEY_UNITS, limits.MAX_KEY_UNITS_LOOSE) == (512, 1024)
    assert (limits.MAX_TRANSACTION_OPERATIONS, limits.MAX_TRANSACTION_BYTES) == (100, 4 * 10**6)
    assert (limits.MAX_PAGE_ENTITIES, limits.MAX_QUERY_TIME) == (1000, timedelta(seconds=5))
    assert limits.ACCOUNT_CAPACITY_BYTES == 500 * 10**12
    assert (limits.INT32_MIN, limits.INT32_MAX) == (-2147483648, 2147483647)
    assert limits.DATETIME_MIN == datetime(1601, 1, 1, tzinfo=timezone.utc)


def test_so_are_those_of_queues() -> None:
    assert (limits.QUEUE_NAME_MIN_LENGTH, limits.QUEUE_NAME_MAX_LENGTH, limits.MAX_PAGE_QUEUES) == (3, 63, 5000)
    assert (limits.MAX_MESSAGE_BYTES, limits.MAX_MESSAGES_PER_GET, limits.MAX_METADATA_BYTES) == (2**16, 32, 2**13)
    assert limits.MAX_VISIBILITY_TIMEOUT == limits.DEFAULT_TIME_TO_LIVE == timedelta(days=7)
    assert timedelta(seconds=30) == limits.DEFAULT_VISIBILITY_TIMEOUT


@pytest.mark.guide("G-075")
def test_no_other_module_writes_a_limit_down_again() -> None:
    defined = {252, 2**20, 4 * 10**6, 4 * 2**20, 32768, 2**31, 2**31 - 1}
    again = {}
    for path in PACKAGE.rglob("*.py"):
        # Most modules have none of the numbers, not even in a text, and need not be parsed
        if path.name != "limits.py" and defined & {
            int(number, 0) for number in NUMBER.findall(path.read_text("utf-8"))
        }:
            again[path.name] = defined & _numbers(path)
    assert {name: found for name, found in again.items() if found} == {}


NUMBER = re.compile(r"\b(?:0x[0-9a-fA-F]+|[1-9](?:_?[0-9])*)\b")


def _numbers(path: Path) -> set[int]:
    """Return the integers in a module's code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is int}


@pytest.mark.guide("G-026", "G-057")
def test_sizes_are_counted_in_utf_16_and_by_type() -> None:
    assert utf16_length("a\u00e9\U0001f6eb") == 4
    properties = {"S": "ab", "B": b"ab", "T": True, "I": 1, "L": Int64(1), "D": 1.0, "W": Ticks(0)}
    values = (4 + 4) + (4 + 2) + 1 + 4 + 8 + 8 + 8
    assert entity_size("p", "rk", properties) == 4 + 2 * 3 + 7 * (8 + 2) + values


def test_order_is_by_utf_16_unit() -> None:
    texts = ["", "a", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "a\U0001f6eb", "a\uffff"]
    assert sorted(texts, key=ordinal) == sorted(texts, key=lambda text: text.encode("utf-16-be"))
