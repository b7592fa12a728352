"""The results as a page: which targets are reached, and what everybody took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .cases import BY_SIZE, CASES, NEW_PAGES
from .contestants import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, FLOOR
from .results import Results, Spread

MAX_BY_SIZE = 1.3
MIN_OVER_AZURITE = 5.0
MAX_BYTES = 1.2 * 1024

_HOW = """\
`make bench` wrote this page, the plot, and [`rounds.json`](rounds.json), which has every round. Take the figures with a
grain of salt: they are those of one machine. The ratios travel better than the times.

The **floor** is the SDK's own sync client over a transport that has its answer ready, the very bytes and headers that
the engine gives: no engine can be faster. The **engine** answers the same client in the same process. **Azurite**
answers it over HTTP on the same machine, and keeps its data in memory too. All take turns in every round. A figure is
the median of the rounds, with the least and the most in brackets; a ratio compares the two of the same round."""


class Verdict(NamedTuple):
    """One target, and whether it is reached."""

    target: str
    measured: str
    reached: bool


def verdicts(results: Results) -> Iterator[Verdict]:
    """Yield the targets in order."""
    for case in CASES:
        if case.target is not None:
            found = results.ratio(case.name, ENGINE, FLOOR)
            target = f"{case.name}: the engine at most {case.target:g} × the floor"
            yield Verdict(target, _times(found), found.median <= case.target)
    for case in CASES:
        if case.point and results.has(AZURITE):
            found = results.ratio(case.name, AZURITE, ENGINE)
            target = f"{case.name}: Azurite at least {MIN_OVER_AZURITE:g} × the engine"
            yield Verdict(target, _times(found), found.median >= MIN_OVER_AZURITE)
    small, large = (results.loaded[who].entities for who in (ENGINE, ENGINE_LARGE))
    for case in BY_SIZE:
        found = results.ratio(case.name, ENGINE_LARGE, ENGINE)
        target = f"{case.name}: at {large:,} entities at most {MAX_BY_SIZE:g} × its cost at {small:,}"
        yield Verdict(target, _times(found), found.median <= MAX_BY_SIZE)
    size = results.memory / large
    yield Verdict(f"memory: at most {MAX_BYTES:,.0f} bytes per entity", f"{size:,.0f} bytes", size <= MAX_BYTES)


def report(results: Results) -> str:
    """Return the page, in Markdown."""
    sections = {
        "Targets": _targets(results),
        "One call": _calls(results),
        "A call in a larger table": _sizes(results),
        "Where": _table(("", ""), results.environment.items()),
    }
    parts = ["# How fast the engine is", _HOW, "![What a call costs](speed.png)"]
    return "\n\n".join([*parts, *(f"## {title}\n\n{text}" for title, text in sections.items())]) + "\n"


def _targets(results: Results) -> str:
    rows = [(each.target, each.measured, "yes" if each.reached else "**no**") for each in verdicts(results)]
    return _table(("target", "measured", "reached"), rows)


def _calls(results: Results) -> str:
    """Return what a call takes in the small table."""
    rows: list[tuple[str, ...]] = []
    for case in (case.name for case in CASES):
        row = [case, *(_time(results.time(case, who)) for who in (FLOOR, ENGINE))]
        row += [_times(results.ratio(case, ENGINE, FLOOR)), _times(results.ratio(case, ENGINE, FLOOR, cpu=True))]
        if results.has(AZURITE):
            row += [_time(results.time(case, AZURITE)), _times(results.ratio(case, AZURITE, ENGINE))]
        rows.append(tuple(row))
    heads = ("", "floor", "engine", "engine / floor", "the same in processor time", "Azurite", "Azurite / engine")
    first = _times(results.ratio(NEW_PAGES, ENGINE_LARGE, FLOOR))
    note = (
        f"In tables of {results.loaded[ENGINE].entities:,} entities. Nothing that was rendered is kept; pages of the "
        f"large table that were never read before take {first} the floor."
    )
    return f"{note}\n\n{_table(heads[: len(rows[0])], rows)}"


def _sizes(results: Results) -> str:
    """Return what the size of the table does to a call."""
    pairs = [(ENGINE, ENGINE_LARGE), *([(AZURITE, AZURITE_LARGE)] if results.has(AZURITE) else [])]
    rows = [(case.name, small, *_grown(results, case.name, small, large)) for case in BY_SIZE for small, large in pairs]
    note = f"Azurite's large table is as large as it got in {results.scale.azurite_seconds:g} seconds."
    table = _table(("", "", "small table", "large table", "entities in them", "large / small"), rows)
    return f"{note}\n\n{table}" if results.has(AZURITE) else table


def _grown(results: Results, case: str, small: str, large: str) -> tuple[str, ...]:
    entities = " and ".join(f"{results.loaded[who].entities:,}" for who in (small, large))
    times = (_time(results.time(case, who)) for who in (small, large))
    return *times, entities, _times(results.ratio(case, large, small))


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(heads), *map(tuple, rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _time(seconds: Spread) -> str:
    median, least, most = (f"{each * 1000:,.3g}" for each in seconds)
    return f"{median} ms ({least} to {most})"


def _times(ratio: Spread) -> str:
    return f"{ratio.median:.2f} × ({ratio.least:.2f} to {ratio.most:.2f})"
