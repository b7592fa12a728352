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
`make bench` wrote this page, and every round in `recipes.json`. All of it is on the account in memory unless it says
otherwise, through the SDK's own clients, in one process."""


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
The first flights of January 2013 go into an empty table, a partition for each carrier: as many as have about
{scale.rows:,} rows, or the first {scale.sharing:,} where they share rows. *Bare* are the SDK's own calls, from one
thread, that read and write the same rows in the same transactions, made ready beforehand; so the ratio is what
planning, checking and threads cost. After each load all rows are compared with those of the other loads. A load of
flights that share rows, such as the sum of a day, has to read each of those rows once: they are among the transactions,
and the last column is the ratio to the writes alone, for whom knows that there is nothing to read."""
    rows = [_bulk_row(results, name) for name in (*DERIVED, *SHARING)]
    heads = (
        "",
        "flights",
        "transactions",
        "BulkLoad",
        "bare",
        "BulkLoad / bare",
        "in processor time",
        "BulkLoad / its writes",
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
Async writers insert {_scale(results).inserts} entities of one name each; `IndexEntity` lists them in the partition,
in one row, or spread over several. The time is simulated: a request takes {least:g} to {most:g} ms, back-off its own
time, and computing none. An attempt is a transaction in the account's ledger. At the end the list is compared with
what was inserted."""
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
{_scale(results).keys:,} point queries, one behind the other or by `EntitySet.get_many`, 8 at a time by default. In one
process nothing is gained by asking the engine in parallel, so here each request waits for 2 ms in real time first. On
Azurite, on the same machine, reads share its one thread and the machine's cores with the client."""
    rows: list[tuple[str, ...]] = []
    for case in (f"{place}, {how}" for place in (DISTANT, "Azurite") for how in ("sync", "async")):
        if case in results.cases:
            rates = (rate(results.rate(case, who)) for who in (READ_ONE_BY_ONE, MANY, WIDE))
            gains = (times(results.ratio(case, READ_ONE_BY_ONE, who)) for who in (MANY, WIDE))
            rows.append((case, *rates, *gains))
    heads = ("", "one by one", "get_many", "limit=32", "as fast, get_many", "as fast, limit=32")
    return f"{note}\n\n{table(heads, rows)}"


def _maintenance(results: RecipeResults) -> str:
    note = f"""\
`EntitySet.backfill` and `verify` of {_scale(results).kept:,} flights, 8 at a time. What is filled in is verified, and
what is verified must be right."""
    rows = [(name, *(rate(results.rate(name, what)) for what in (BACKFILL, VERIFY))) for name in KINDS]
    return f"{note}\n\n{table(('entities', BACKFILL, VERIFY), rows)}"


def _year(year: Year) -> str:
    note = f"""\
Measured once, by `make bench ARGS=year`: all {year.loads[0].entities:,} flights of 2013, a row each and one in each
index that they have the fields of. *Bare* are the SDK's own calls, from one thread, that write the same rows in the
same transactions; they are noted while the flights are loaded. Seconds are those of the processor, since a load of
minutes is seldom alone on its machine: see below how busy this one was."""
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
    heads = ("", "transactions", "BulkLoad", "flights", "bare", "BulkLoad / bare")
    return f"{note}\n\n{table(heads, rows)}"


def _scale(results: RecipeResults) -> RecipeScale:
    assert isinstance(results.scale, RecipeScale)
    return results.scale
