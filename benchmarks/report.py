"""The page on single requests: the targets, and the times of all contestants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from . import blob_cases, queue_cases, table_cases
from .case import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, FLOOR, Case
from .page import Verdict, page, table, targets, time, times, where
from .results import Results

MAX_BY_SIZE = 1.3
MIN_OVER_AZURITE = 5.0
MAX_BYTES = 500

_HOW = """\
`make bench` writes this page, the plot, and every round to `tables.json` and `objects.json`. Recipes are on
[another page](recipes.md).

The **floor** is the SDK's sync client over a transport that returns recorded responses of the engine. For tables,
azure-core's own response class reads them; it parses transactions with the email package, so the engine can be faster
than the floor. The **engine** responds to the same client in the same process. **Azurite** responds over HTTP on the
same machine, and keeps its data in memory too. They take turns in each round.

![What a call costs](speed.png)"""

AnyCases = Sequence[Case[Any]]
OBJECTS: AnyCases = (*queue_cases.CASES, *blob_cases.CASES)


def report(tables: Results | None, objects: Results | None) -> str:
    """Return the page of the results."""
    parts = {"tables": tables, "queues and blobs": objects}
    verdicts = [*(of_tables(tables) if tables else ()), *(of_objects(objects) if objects else ())]
    sections = {"Targets": targets(verdicts)}
    if tables:
        sections["One call on a table"] = _calls_of_tables(tables)
    if objects:
        sections["One call on a queue or a blob"] = _calls_of_objects(objects)
    if tables:
        sections["A call in a larger table"] = _sizes(tables, [case.name for case in table_cases.BY_SIZE], "table")
    if objects:
        sections["A list in a larger container"] = _sizes(objects, [blob_cases.LIST], "container")
    sections["Where"] = where({name: each.environment for name, each in parts.items() if each})
    return page("How fast the engine is", _HOW, sections)


def of_tables(results: Results) -> Iterator[Verdict]:
    """Yield the targets of tables in order."""
    for case in table_cases.CASES:
        if case.target is not None:
            found = results.ratio(case.name, ENGINE, FLOOR, cpu=True)
            target = f"{case.name}: the engine at most {case.target:g} × the floor, in processor time"
            yield Verdict(target, times(found), found.median <= case.target)
    yield from _over_azurite(results, table_cases.CASES)
    for case in table_cases.BY_SIZE:
        yield _by_size(results, case.name, "entities")
    if results.memory is not None:
        size = results.memory / results.loaded[ENGINE_LARGE].entities
        yield Verdict(f"memory: at most {MAX_BYTES:,.0f} bytes per entity", f"{size:,.0f} bytes", size <= MAX_BYTES)


def of_objects(results: Results) -> Iterator[Verdict]:
    """Yield the targets of queues and blobs in order."""
    yield from _over_azurite(results, OBJECTS)
    yield _by_size(results, blob_cases.LIST, "blobs")


def _over_azurite(results: Results, cases: AnyCases) -> Iterator[Verdict]:
    for case in cases:
        if case.point and results.has(AZURITE):
            found = results.ratio(case.name, AZURITE, ENGINE)
            target = f"{case.name}: Azurite at least {MIN_OVER_AZURITE:g} × the engine"
            limit = results.ratio(case.name, AZURITE, FLOOR).median
            measured = f"{times(found)}; {limit:.2f} × the floor, so no engine can do better"
            yield Verdict(target, measured, found.median >= MIN_OVER_AZURITE)


def _by_size(results: Results, case: str, what: str) -> Verdict:
    small, large = (results.loaded[who].entities for who in (ENGINE, ENGINE_LARGE))
    found = results.ratio(case, ENGINE_LARGE, ENGINE)
    target = f"{case}: at {large:,} {what} at most {MAX_BY_SIZE:g} × its cost at {small:,}"
    return Verdict(target, times(found), found.median <= MAX_BY_SIZE)


def _calls_of_tables(results: Results) -> str:
    first = times(results.ratio(table_cases.NEW_PAGES, ENGINE_LARGE, FLOOR))
    note = (
        f"In tables of {results.loaded[ENGINE].entities:,} entities. Responses are not cached; pages of the large "
        f"table that were not read before take {first} the floor."
    )
    return f"{note}\n\n{_calls(results, [case.name for case in table_cases.CASES])}"


def _calls_of_objects(results: Results) -> str:
    note = f"""\
Each message has {len(queue_cases.TEXT)} characters. The results of all calls are checked. The fourth call is three
requests. The floor does not read what is uploaded; the engine stores it and computes its MD5. The list is one page of
all {results.loaded[ENGINE].entities:,} blobs of a container."""
    return f"{note}\n\n{_calls(results, [*(case.name for case in OBJECTS), blob_cases.LIST])}"


def _calls(results: Results, cases: Sequence[str]) -> str:
    """Return the times of calls on the small data."""
    rows: list[tuple[str, ...]] = []
    for case in cases:
        row = [case, *(time(results.time(case, who)) for who in (FLOOR, ENGINE))]
        row += [times(results.ratio(case, ENGINE, FLOOR)), times(results.ratio(case, ENGINE, FLOOR, cpu=True))]
        if results.has(AZURITE):
            row += [time(results.time(case, AZURITE)), times(results.ratio(case, AZURITE, ENGINE))]
        rows.append(tuple(row))
    heads = ("", "floor", "engine", "engine / floor", "the same in processor time", "Azurite", "Azurite / engine")
    return table(heads[: len(rows[0])], rows)


def _sizes(results: Results, cases: Sequence[str], place: str) -> str:
    """Return the effect of the amount of data on a call."""
    pairs = [(ENGINE, ENGINE_LARGE), *([(AZURITE, AZURITE_LARGE)] if results.has(AZURITE) else [])]
    rows = [(case, small, *_grown(results, case, small, large)) for case in cases for small, large in pairs]
    note = f"Azurite's large {place} has what it stored within {results.scale.azurite_seconds:g} seconds."
    found = table(("", "", f"small {place}", f"large {place}", "in them", "large / small"), rows)
    return f"{note}\n\n{found}" if results.has(AZURITE) else found


def _grown(results: Results, case: str, small: str, large: str) -> tuple[str, ...]:
    held = " and ".join(f"{results.loaded[who].entities:,}" for who in (small, large))
    found = (time(results.time(case, who)) for who in (small, large))
    return *found, held, times(results.ratio(case, large, small))
