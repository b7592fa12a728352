"""Instants as headers and XML write them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...edm import Ticks
from ..clock import SECOND

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def http_date(moment: Ticks) -> str:
    """Return an instant as headers write it, in whole seconds and in English whatever the locale.

    >>> http_date(Ticks.parse("2014-08-22T00:50:32.5Z"))
    'Fri, 22 Aug 2014 00:50:32 GMT'
    """
    return _http_date(int(moment) // SECOND)


@lru_cache(maxsize=16)
def _http_date(seconds: int) -> str:
    when = Ticks(seconds * SECOND).datetime()
    return f"{_DAYS[when.weekday()]}, {when.day:02d} {_MONTHS[when.month - 1]} {when.year:04d} {when:%H:%M:%S} GMT"


def seven_digits(moment: Ticks) -> str:
    """Return an instant with all seven digits of its fraction.

    >>> seven_digits(Ticks.parse("2014-08-22T00:50:32Z"))
    '2014-08-22T00:50:32.0000000Z'
    """
    return f"{moment.iso()[:19]}.{int(moment) % SECOND:07d}Z"
