"""Advice: what the catalogue says of a pattern, as the findings give it on."""

from __future__ import annotations

from ..catalogue import entry


def trade_offs(pattern: str) -> tuple[str, ...]:
    """Return what a pattern costs: the guide's issues and considerations.

    >>> trade_offs("log_tail")[0]  # doctest: +ELLIPSIS
    '...'

    :param pattern: its name in the catalogue
    :raises BadInput: the catalogue has no such pattern
    """
    return entry(pattern).trade_offs
