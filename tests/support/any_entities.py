"""Strategies of Hypothesis for the keys, values and entities that the service accepts."""

from __future__ import annotations

import re
from datetime import timezone
from typing import Any

from hypothesis import strategies as st

from tablepatterns import limits
from tablepatterns.edm import Int64, Ticks, instant_of

_FORBIDDEN = re.compile(limits.FORBIDDEN_IN_KEYS)
_FIRST = instant_of(limits.DATETIME_MIN)


def keys() -> st.SearchStrategy[str]:
    """Return keys, many of them close to each other."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(
        lambda key: not _FORBIDDEN.search(key)
    )
    return st.one_of(st.text("ab01~é\uffff🛫'", max_size=3), anything)


def names() -> st.SearchStrategy[str]:
    """Return names of properties, some of which differ only in case."""
    return st.one_of(
        st.sampled_from(["a", "A", "b", "Ab", "aB", "Größe", "größe", "timestamp", "partitionkey"]),
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True),
    )


def values() -> st.SearchStrategy[Any]:
    """Return values of all eight types, as entities have them when they are read."""
    ticks = st.integers(_FIRST, Ticks.MAX).map(Ticks)
    return st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.booleans(),
        st.integers(limits.INT32_MIN, limits.INT32_MAX),
        st.integers(limits.INT64_MIN, limits.INT64_MAX).map(Int64),
        st.floats(),
        ticks.filter(lambda value: value % 10),
        st.datetimes(limits.DATETIME_MIN.replace(tzinfo=None), timezones=st.just(timezone.utc)),
        st.uuids(),
        st.binary(max_size=8),
    )


_RESERVED = {"PartitionKey", "RowKey", "Timestamp", "WriteId"}


def entities() -> st.SearchStrategy[dict[str, Any]]:
    """Return entities with any properties."""
    properties = st.dictionaries(names().filter(lambda name: name not in _RESERVED), values(), max_size=5)
    return st.builds(
        lambda keys, more: {"PartitionKey": keys[0], "RowKey": keys[1], **more}, st.tuples(keys(), keys()), properties
    )
