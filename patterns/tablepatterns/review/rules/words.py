"""Words: numbers and names as a reader says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SPANS: Final = ((1.0, "second"), (60.0, "minute"), (3600.0, "hour"), (86_400.0, "day"), (31_557_600.0, "year"))
_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB", "PB")


def number(value: float) -> str:
    """Return a number with as many digits as are of use.

    >>> number(20_000), number(2.5), number(1 / 3), number(1_234_567), number(3.2e9)
    ('20,000', '2.5', '0.33', '1.23 million', '3.2 billion')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {name}" if value < 1000 * size else f"{value / size:,.0f} {name}"
    if value >= 1000:
        return f"{float(f'{value:.3g}') if value != int(value) else value:,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def often(rate: float) -> str:
    """Return how often something happens, in the longest of the usual spans in which it happens at least once.

    >>> often(200), often(1 / 60), often(0.0003), often(0)
    ('200 times a second', 'once a minute', '1.1 times an hour', 'never')
    """
    if rate <= 0:
        return "never"
    for seconds, name in _SPANS:
        times = rate * seconds
        if times >= 0.95:
            article = "an" if name == "hour" else "a"
            return f"once {article} {name}" if round(times, 1) == 1 else f"{number(times)} times {article} {name}"
    return "less than once a year"


def entities(count: float) -> str:
    """Return so many entities.

    >>> entities(1), entities(5000)
    ('1 entity', '5,000 entities')
    """
    return "1 entity" if round(count, 1) == 1 else f"{number(count)} entities"


def size(count: float) -> str:
    """Return so many bytes, in decimal units.

    >>> size(400), size(2_000_000)
    ('400 bytes', '2 MB')
    """
    rest, unit = float(count), 0
    while rest >= 1000 and unit < len(_UNITS) - 1:
        rest, unit = rest / 1000, unit + 1
    return f"{number(rest)} {_UNITS[unit]}"


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return names as a sentence lists them, no more than so many by themselves.

    >>> listed(["Email"]), listed(["Email", "Age", "City"]), listed(["Email", "Age", "City"], most=1)
    ('Email', 'Email, Age and City', 'Email and 2 more')
    """
    shown = [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)
    *before, last = shown
    return f"{', '.join(before)} and {last}" if before else last


def years(span: float) -> str:
    """Return a time from now.

    >>> years(0), years(0.04), years(0.5), years(2)
    ('now', 'in 2 weeks', 'in 6 months', 'in 2 years')
    """
    if span <= 0:
        return "now"
    if span < 1 / 6:
        return f"in {max(1, round(span * 52))} weeks"
    return f"in {round(span * 12)} months" if span < 2 else f"in {number(span)} years"


def part_of(declared: str, name: str) -> str:
    """Return the subject of a finding about an access pattern of a set, or about data that is kept with it.

    >>> part_of("Employees", "hire")
    'Employees: hire'
    """
    return f"{declared}: {name}"
