"""Explore the guarantees of recipes: with smaller bounds in every run, with --nightly and when recorded with their own.

`--record-guarantees` writes docs/data/explored.json, for the page. Use one process (`-n 0`). The records of a file are
replaced as a whole, so run all tests of a file; those of other files are kept.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tablepatterns_explore import Counterexample, Explored, World, explore, replay

RECORD = Path(__file__).parents[2] / "docs" / "data" / "explored.json"
_DEFAULTS = {"crashes": 0, "lost_responses": 0, "stalls": [], "preemptions": None, "samples": 0}
_WIDER = 20_000
"""The maximum number of schedules with one crash more than a test requests."""
_FAULTS = ("crashes", "lost_responses", "stalls")
_SUMS = ("schedules", "pruned", "states", "choices", "seconds")
_FEWER = 5
"""How many times fewer schedules there may be within the smaller bounds."""
_TESTS = pytest.StashKey[dict[str, list[dict[str, Any]]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-guarantees", action="store_true", help="keep what is explored, for docs/guarantees.md")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "broken(recipe): whose variant it is, where its file is of several recipes")
    if not config.getoption("record_guarantees"):
        return
    if getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--record-guarantees needs one process: -n 0")
    config.stash[_TESTS] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    global _item
    _item = item
    return (yield)


_item: pytest.Item | None = None
"""The running test."""


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _TESTS not in session.config.stash:
        return
    marked = {_name(item) for item in session.items if item.get_closest_marker("guarantee")}
    files = {name.partition("::")[0] for name in marked}
    tests = session.config.stash[_TESTS]
    kept = {name: seen for name, seen in tests.items() if name.partition("::")[0] in files}
    if exitstatus or (missing := marked - kept.keys()):
        raise pytest.UsageError(f"nothing is recorded: tests failed, or explore nothing: {sorted(missing)}")
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    others = {name: seen for name, seen in before.items() if name.partition("::")[0] not in files}
    RECORD.write_text(json.dumps(dict(sorted((others | kept).items())), indent=1) + "\n", encoding="utf-8")


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def explore_guarantee(make: Any, *, at_least: int = 2, **options: Any) -> Explored:
    """Explore what a recipe guarantees, or a broken variant of it, and check that every schedule was tried.

    A test that is marked `guarantee` explores at most one preemption without faults, and then each kind of fault
    without preemptions. All of it at once is explored with --nightly, when recorded, and always by other tests.

    :param at_least: how many schedules there must be, or the actors do not meet; a fifth within the smaller bounds
    """
    if (seen := _seen()) is not None:
        result = _recorded(seen, make, options)
    elif _is_explored_in_part() and not options.get("samples"):
        result = _sum_of([explore(make, **smaller) for smaller in _smaller(options)])
        at_least = at_least // _FEWER
    else:
        result = explore(make, **options)
    print(f"{result}; {result.states:,} states, {result.choices:,} steps, {result.seconds:.1f} s")
    assert result.exhaustive or options.get("samples")
    assert result.schedules + result.pruned >= at_least
    return result


def replay_guarantee(make: Any, schedule: str, **options: Any) -> World:
    """Replay a schedule of what a recipe guarantees or not; a counterexample is recorded."""
    try:
        return replay(make, schedule, **options)
    except Counterexample as found:
        if (seen := _seen()) is not None:
            seen.append({"found": found.schedule})
        raise


def _seen() -> list[dict[str, Any]] | None:
    """Return the records of the running test; None if nothing is recorded."""
    if _item is None or _TESTS not in _item.config.stash:
        return None
    return _item.config.stash[_TESTS].setdefault(_name(_item), [])


def _is_explored_in_part() -> bool:
    if _item is None or _item.config.getoption("nightly"):
        return False
    return _item.get_closest_marker("guarantee") is not None


def _smaller(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the bound without faults, unless it has no preemptions either, and the bound of each kind of fault."""
    kinds = [name for name in _FAULTS if options.get(name)]
    without_faults = {name: value for name, value in options.items() if name not in _FAULTS}
    if not kinds or options.get("preemptions") != 0:
        yield {**without_faults, "preemptions": 0 if options.get("preemptions") == 0 else 1}
    for kind in kinds:
        yield {**without_faults, kind: options[kind], "preemptions": 0}


def _sum_of(results: list[Explored]) -> Explored:
    sums: dict[str, Any] = {name: sum(getattr(result, name) for result in results) for name in _SUMS}
    return replace(results[0], exhaustive=all(result.exhaustive for result in results), **sums)


def _recorded(seen: list[dict[str, Any]], make: Any, options: dict[str, Any]) -> Explored:
    """Explore, and record with how many actors, within which bound, and what was tried or found."""
    actors = 0

    @wraps(make)
    def counted(world: World) -> Any:
        nonlocal actors
        made = make(world)
        actors = len(made)
        return made

    def record(result: Explored, options: dict[str, Any]) -> dict[str, Any]:
        bound = {name: options.get(name, default) for name, default in _DEFAULTS.items()}
        bound["stalls"] = list(bound["stalls"])
        tried = {"schedules": result.schedules, "pruned": result.pruned, "exhaustive": result.exhaustive}
        return {"actors": actors} | bound | tried

    try:
        result = explore(counted, **options)
        kept = record(result, options)
        if options.get("crashes") == 1 and actors > 1:
            # Guarantees for one crash are also explored with two, if that takes only seconds
            wider = {**options, "crashes": 2, "schedules": _WIDER}
            if (found := explore(counted, **wider)).exhaustive:
                kept = record(found, wider)
    except Counterexample as found:
        seen.append({"found": found.schedule})
        raise
    seen.append(kept)
    return result
