"""The page on recipes: the targets, and the times."""

from __future__ import annotations

from collections.abc import Iterator

from ..data import RecipeScale
from ..page import Verdict, page, rate, table, targets, times, where
from ..results import RecipeResults, Year
from .bulk import BARE, DERIVED, LOADED, SHARING, WRITES
from .contention import SECONDS
from .maintenance import BACKFILL, KINDS, VERIFY
from .reading import DISTANT, MANY, WIDE
from .reading import ONE_BY_ONE as READ_ONE_BY_ONE

MAX_OVER_BARE = 1.25

_HOW = """\
`make bench` writes this page, and every round to `recipes.json`. Unless stated otherwise, recipes run on an account in
memory, in one process."""


def report(results: RecipeResults, year: Year | None) -> str:
    """Return the page of the results."""
    sections = {
        "Targets": targets(verdicts(results)),
        "Bulk load": _bulk(results),
        "Many writers of one list": _contention(results),
        "Many keys": _reading(results),
        "Derived data of older entities": _maintenance(results),
    }
    environments = {"recipes": results.environment}
    if year:
        sections["A whole year"] = _year(year)
        environments["year"] = year.environment
    sections["Where"] = where(environments)
    return page("What recipes take", _HOW, sections)


def verdicts(results: RecipeResults) -> Iterator[Verdict]:
    for name in (*DERIVED, *SHARING):
        found = results.ratio(f"bulk load, {name}", LOADED, BARE)
        target = f"bulk load, {name}: at most {MAX_OVER_BARE:g} × the SDK's own calls"
        yield Verdict(target, times(found), found.median <= MAX_OVER_BARE)


def _bulk(results: RecipeResults) -> str:
    scale = _scale(results)
    note = f"""\
The first flights of January 2013 are loaded into an empty table with a partition for each carrier: as many as have
about {scale.rows:,} rows, or the first {scale.sharing:,} if they share rows. *SDK* are the SDK's own calls from one
thread, with the same rows in the same transactions, prepared in advance. After each load, all rows are compared with
those of the other loads. A load of flights that share rows, such as the total of a day, reads each of these rows once.
Its reads count as transactions, and the last column compares it with the SDK's writes alone."""
    rows = [_bulk_row(results, name) for name in (*DERIVED, *SHARING)]
    heads = (
        "",
        "flights",
        "transactions",
        "BulkLoad",
        "SDK",
        "BulkLoad / SDK",
        "in processor time",
        "BulkLoad / the SDK's writes",
    )
    return f"{note}\n\n{table(heads, rows)}"


def _bulk_row(results: RecipeResults, name: str) -> tuple[str, ...]:
    case = f"bulk load, {name}"
    rates = (rate(results.rate(case, who)) for who in (LOADED, BARE))
    ratios = (
        results.ratio(case, LOADED, BARE),
        results.ratio(case, LOADED, BARE, cpu=True),
    )
    return (
        name,
        f"{results.cases[case][LOADED].calls:,}",
        f"{results.transactions[name]:,}",
        *rates,
        *map(times, ratios),
        times(results.ratio(case, LOADED, WRITES)) if WRITES in results.cases[case] else "",
    )


def _contention(results: RecipeResults) -> str:
    least, most = (seconds * 1000 for seconds in SECONDS)
    note = f"""\
Each async writer inserts {_scale(results).inserts} entities with the same name. An `IndexEntity` lists them in the
same partition, in one row or in several. The time is simulated: a request takes {least:g} to {most:g} ms, retries wait
as long as they ask for, and computing takes no time. An attempt is a transaction that was sent. At the end, the list is
compared with what was inserted."""
    rows = [
        (
            f"{each.writers}",
            f"{each.spread}",
            f"{each.attempts / each.written:.2f}",
            f"{each.given_up}",
            f"{each.written / each.seconds:,.0f}/s",
        )
        for each in results.writers
    ]
    heads = ("writers", "rows of the list", "attempts per insert", "gave up", "inserts, simulated")
    return f"{note}\n\n{table(heads, rows)}"


def _reading(results: RecipeResults) -> str:
    note = f"""\
{_scale(results).keys:,} point queries, one after the other or with `EntitySet.get_many`, by default 8 at a time. The
engine runs in the same process, where concurrent requests are no faster, so each request waits for 2 ms of real time
first. Azurite has one thread, and shares the machine's cores with the client."""
    rows: list[tuple[str, ...]] = []
    for case in (f"{place}, {how}" for place in (DISTANT, "Azurite") for how in ("sync", "async")):
        if case in results.cases:
            rates = (rate(results.rate(case, who)) for who in (READ_ONE_BY_ONE, MANY, WIDE))
            gains = (times(results.ratio(case, READ_ONE_BY_ONE, who)) for who in (MANY, WIDE))
            rows.append((case, *rates, *gains))
    heads = ("", "one by one", "get_many", "limit=32", "times as fast, get_many", "times as fast, limit=32")
    return f"{note}\n\n{table(heads, rows)}"


def _maintenance(results: RecipeResults) -> str:
    note = f"""\
`jobs.backfill` and `verify` of {_scale(results).kept:,} flights, 8 at a time. The results of each backfill are
verified."""
    rows = [(name, *(rate(results.rate(name, what)) for what in (BACKFILL, VERIFY))) for name in KINDS]
    return f"{note}\n\n{table(('entities', BACKFILL, VERIFY), rows)}"


def _year(year: Year) -> str:
    note = f"""\
Measured once, with `make bench ARGS=year`: all {year.loads[0].entities:,} flights of 2013, with a row for each flight
and one in each index whose fields it has. *SDK* are the SDK's own calls from one thread, which write the same rows in
the same transactions. Times are processor time; the machine's load is below."""
    rows = [
        (
            each.name,
            f"{each.transactions:,}",
            f"{each.cpu:,.0f} s",
            f"{each.entities / each.cpu:,.0f}/s",
            f"{each.bare_cpu:,.0f} s",
            f"{each.cpu / each.bare_cpu:.2f}",
        )
        for each in year.loads
    ]
    heads = ("", "transactions", "BulkLoad", "flights", "SDK", "BulkLoad / SDK")
    return f"{note}\n\n{table(heads, rows)}"


def _scale(results: RecipeResults) -> RecipeScale:
    assert isinstance(results.scale, RecipeScale)
    return results.scale
