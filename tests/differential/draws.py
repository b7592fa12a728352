"""Strategies for several services."""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from differential.raw_requests import Metadata, Policy

T = TypeVar("T")


def mostly(usual: SearchStrategy[T], rare: SearchStrategy[Any]) -> SearchStrategy[T]:
    """Draw what is usual, and one time in ten what is rare."""
    return st.integers(0, 9).flatmap(lambda number: rare if number == 9 else usual)


def _once_each(pairs: list[tuple[str, str]]) -> Metadata:
    found = {name.lower(): (name, value) for name, value in pairs}
    if not all(map(str.isidentifier, found)):
        # Clients and Azurite do not agree whether it comes before a digit, and so not on the signature
        found.pop("_", None)
    return tuple(found.values())


_values = st.sampled_from(("red", "Don Hall", "a, b; c=d", "1", "%41"))
_names = mostly(st.sampled_from(("colour", "Owner", "x_1", "_")), st.sampled_from(("1a", "a-b")))
metadata = st.lists(st.tuples(_names, _values), max_size=3).map(_once_each)

_START, _EXPIRY = "2020-01-01T00:00:00.0000000Z", "2030-12-31T23:59:59.1234567Z"


def policies(permissions: tuple[str, ...]) -> SearchStrategy[tuple[Policy, ...]]:
    """Draw access policies.

    :param permissions: sets of permissions, a wrong one among them
    """
    ids = st.uuids().map(str)
    policy = st.builds(Policy, ids, st.just(_START), st.just(_EXPIRY), st.sampled_from(permissions))
    few, many = (
        st.lists(policy, min_size=least, max_size=most, unique_by=lambda policy: policy.id)
        for least, most in ((0, 5), (6, 6))
    )
    return mostly(few, many).map(tuple)
