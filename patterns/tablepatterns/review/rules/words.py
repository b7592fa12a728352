"""Words: numbers and names as a reader says them."""

from __future__ import annotations

from collections.abc import Sequence

from ...figures import number, plural


def entities(count: float) -> str:
    """Return so many entities.

    >>> entities(1), entities(5000)
    ('1 entity', '5,000 entities')
    """
    return plural(count, "entity")


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """Return names as a sentence lists them, no more than so many by themselves.

    >>> listed(["Email"]), listed(["Email", "Age", "City"]), listed(["Email", "Age", "City"], most=1)
    ('Email', 'Email, Age and City', 'Email and 2 more')
    """
    shown = [*names[:most], f"{number(len(names) - most)} more"] if len(names) > most else list(names)
    *before, last = shown
    return f"{', '.join(before)} and {last}" if before else last


def part_of(declared: str, name: str) -> str:
    """Return the subject of a finding about an access pattern of a set, or about data that is kept with it.

    >>> part_of("Employees", "hire")
    'Employees: hire'
    """
    return f"{declared}: {name}"
