"""Explore the guarantees of recipes with smaller bounds in every run: preemptions and faults one after the other.

A test that is marked `guarantee` explores at most one preemption without faults, and then each kind of fault without
preemptions. All of it at once follows with --nightly and `make guarantees`. Broken variants have their full bounds in
every run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

import pytest

import tablepatterns.testing
from tablepatterns.testing import Explored

FAULTS = ("crashes", "lost_responses", "stalls")
SUMS = ("schedules", "pruned", "states", "choices", "seconds")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("nightly") and not config.getoption("record_guarantees"):
        # Before tests import it from there; doctests use that of its module
        vars(tablepatterns.testing).update(explore=_one_after_the_other(tablepatterns.testing.explore))


_proves_guarantee = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    global _proves_guarantee
    _proves_guarantee = item.get_closest_marker("guarantee") is not None
    return (yield)


def _one_after_the_other(plain: Callable[..., Explored]) -> Callable[..., Explored]:
    @wraps(plain)
    def explore(make: Any, **options: Any) -> Explored:
        if not _proves_guarantee or options.get("samples"):
            return plain(make, **options)
        results = [plain(make, **smaller) for smaller in _smaller(options)]
        sums: dict[str, Any] = {name: sum(getattr(result, name) for result in results) for name in SUMS}
        return replace(results[0], exhaustive=all(result.exhaustive for result in results), **sums)

    return explore


def _smaller(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the bound without faults, unless it has no preemptions either, and the bound of each kind of fault."""
    kinds = [name for name in FAULTS if options.get(name)]
    without_faults = {name: value for name, value in options.items() if name not in FAULTS}
    if not kinds or options.get("preemptions") != 0:
        yield {**without_faults, "preemptions": 0 if options.get("preemptions") == 0 else 1}
    for kind in kinds:
        yield {**without_faults, kind: options[kind], "preemptions": 0}
