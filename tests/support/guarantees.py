"""Record the explorations of each recipe: `--record-guarantees` writes docs/data/explored.json, for the page.

The exploring functions are wrapped, so that tests that import them record their results. Use one process (`-n 0`). The
records of a file are replaced as a whole, so run all tests of a file; those of other files are kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import tablepatterns.testing
from tablepatterns.testing import Counterexample

RECORD = Path(__file__).parents[2] / "docs" / "data" / "explored.json"
_DEFAULTS = {"crashes": 0, "lost_responses": 0, "stalls": [], "preemptions": None, "samples": 0}
_WIDER = 3000
"""The maximum number of schedules with one crash more than a test requests."""
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
    # The module and the function have the same name
    module = sys.modules["tablepatterns.testing.explore"]
    explore, replay = _observed_explore(config), _observed_replay(config)
    for place in (module, tablepatterns.testing):
        vars(place).update(explore=explore, replay=replay)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    global _current
    _current = _name(item)
    return (yield)


_current = ""


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


def _observed_explore(config: pytest.Config) -> Callable[..., Any]:
    plain = tablepatterns.testing.explore

    @wraps(plain)
    def explore(make: Any, **options: Any) -> Any:
        actors = 0

        @wraps(make)
        def counted(world: Any) -> Any:
            nonlocal actors
            made = make(world)
            actors = len(made)
            return made

        def explored(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            result = plain(counted, **options)
            bound = {name: options.get(name, default) for name, default in _DEFAULTS.items()}
            bound["stalls"] = list(bound["stalls"])
            seen = {"schedules": result.schedules, "pruned": result.pruned, "exhaustive": result.exhaustive}
            return result, {"actors": actors} | bound | seen

        try:
            result, kept = explored(options)
            if options.get("crashes") == 1 and actors > 1:
                # Guarantees for one crash are also explored with two, if that takes only seconds
                wider, kept_wider = explored({**options, "crashes": 2, "schedules": _WIDER})
                kept = kept_wider if wider.exhaustive else kept
        except Counterexample as found:
            _keep(config, {"found": found.schedule})
            raise
        _keep(config, kept)
        return result

    return explore


def _observed_replay(config: pytest.Config) -> Callable[..., Any]:
    plain = tablepatterns.testing.replay

    @wraps(plain)
    def replay(make: Any, schedule: str, **options: Any) -> Any:
        try:
            return plain(make, schedule, **options)
        except Counterexample as found:
            _keep(config, {"found": found.schedule})
            raise

    return replay


def _keep(config: pytest.Config, seen: dict[str, Any]) -> None:
    config.stash[_TESTS].setdefault(_current, []).append(seen)
