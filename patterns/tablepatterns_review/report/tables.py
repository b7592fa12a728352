"""The tables of a report as data, which each format renders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from tablepatterns.figures import amount, money, number, plural, rate, share, sum_of_money, time_of_day
from tablepatterns.filters import QueryClass

from ..design.model import DEFAULT_PATTERN
from ..design.writes import ROUND_TRIP
from ..measure.measure import is_of_retention
from ..plans.estimate import PAGE_READS
from ..result import LimitUse, Measured, Reviewed, TableLoad
from .formatting import (
    SEVERITIES,
    class_of,
    hottest_first,
    name_of,
    nearest_to_target,
    plain,
    reached,
    scans,
    target_sentence,
)

Tone = Literal["plain", "good", "fair", "bad"]


@dataclass(frozen=True)
class Cell:
    """The content of a table cell; a `note` is shown below the text.

    :param code: a call, shown below the text
    :param tone: whether it is good or bad; the text must say so too
    """

    text: str
    code: str = ""
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """A column of a table; one of figures is right-aligned."""

    name: str
    figures: bool = False


def columns(*headings: str) -> tuple[Column, ...]:
    """Return columns by their headings; those of figures begin with `>`."""
    return tuple(Column(heading.removeprefix(">"), heading.startswith(">")) for heading in headings)


def row(*texts: str | Cell) -> tuple[Cell, ...]:
    """Return the cells of a row; texts may be those of a design."""
    return tuple(text if isinstance(text, Cell) else Cell(plain(text)) for text in texts)


@dataclass(frozen=True)
class Sheet:
    """One table of a report.

    :param name: its name in links
    :param says: a sentence on what it shows; why there are no rows, if there are none
    :param notes: how to read the table
    :param is_fine: whether all of it is as it should be, so that the sentence says enough
    """

    name: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    is_fine: bool = False


_TONES: Final[dict[QueryClass | None, Tone]] = {
    None: "plain",
    QueryClass.POINT: "good",
    QueryClass.RANGE: "good",
    QueryClass.PARTITION_SCAN: "fair",
    QueryClass.TABLE_SCAN: "bad",
}
_NEAR: Final = 0.5
_RETRIES: Final = 0.05


_SCAN_NOTE: Final = (
    f"A scan sends one request per 1,000 results, or per {number(PAGE_READS)} entities read: a page ends after five "
    "seconds, in which the service is assumed to read that many. Pages also end at the boundaries of partition ranges."
)


def sheets(reviewed: Reviewed) -> tuple[Sheet, ...]:
    """Return the tables in the order of a review: first what the design is, then what it leads to."""
    design = _keys(reviewed), _accesses(reviewed)
    return *design, _heat(reviewed), _limits(reviewed), _consistency(reviewed), _bill(reviewed)


def _keys(reviewed: Reviewed) -> Sheet:
    """Return the rows that are stored, with their keys, and the access patterns that read them by these keys."""
    rows, sets = list[tuple[Cell, ...]](), reviewed.design.sets
    for of in sets:
        readers = {
            call.access.name: call.via for call in reviewed.measured if call.of.name == of.name and call.kind == "query"
        }
        kept = f"deleted after {number(of.retention.days)} days" if of.retention else ""
        kept = "never deleted" if of.permanent else kept
        grows = f"+{number(of.shape.growth)} a year" if of.shape.growth else ""
        rows.append(
            row(
                Cell(plain(of.name), note="" if of.pattern == DEFAULT_PATTERN else of.pattern),
                of.table,
                Cell("", of.key.partition_template),
                Cell("", of.key.row_template),
                Cell(number(of.shape.count), note=", ".join(filter(None, (grows, kept)))),
                ", ".join(name for name, via in readers.items() if via is None),
            )
        )
        for derived, profile in of.profiles():
            template = (profile.key.partition_template, profile.key.row_template) if profile.key else ("", "")
            rows.append(
                row(
                    Cell(f"↳ {plain(derived.name)}", note="updated later" if derived.is_eventual else ""),
                    derived.table(of.table) if profile.in_table else "blobs",
                    *(Cell("", part) for part in template),
                    "",
                    ", ".join(name for name, via in readers.items() if via == derived.name),
                )
            )
    tables = len({of.table for of in sets})
    return Sheet(
        "keys",
        "Tables and keys",
        f"{plural(len(sets), 'set')} in {plural(tables, 'table')}. ↳ is derived from the set above it.",
        columns("Rows", "Table", "PartitionKey", "RowKey", ">Entities", "Read by"),
        tuple(rows),
    )


def _accesses(reviewed: Reviewed) -> Sheet:
    calls, scanned = reviewed.measured, scans(reviewed)
    scanning = f"{number(scanned) if scanned else 'none'} of them {'scan' if scanned > 1 else 'scans'}"
    samples = [call.sample for call in calls if call.sample < call.of.shape.count]
    notes = [
        "Figures are for one call, on average. Billed: storage transactions, including those of workers; table "
        "transactions, unless another service is named. "
        "Examined: entities that the service reads.",
        *([_SCAN_NOTE] if any(call.examined > PAGE_READS for call in calls) else []),
    ]
    if samples:
        notes.append(f"Larger sets were measured with a sample of {number(max(samples))} entities and scaled up.")
    headings = ("Access pattern", "Class", "Rate", ">Requests", ">Billed", ">Examined", ">Returned")
    return Sheet(
        "access-patterns",
        "Access patterns",
        f"{plural(len(calls), 'access pattern')}, and {scanning}."
        if calls
        else "The design declares no access pattern.",
        columns(*headings, f">{plain(reviewed.bill.currency)} a month"),
        tuple(map(_access, calls)),
        notes=tuple(notes) if calls else (),
    )


def _access(call: Measured) -> tuple[Cell, ...]:
    average, busiest = call.access.rate, call.access.busiest
    is_of_tables = call.cost.table == call.cost.transactions
    return row(
        Cell(name_of(call), plain(call.how)),
        Cell(class_of(call), note="eventually consistent" if call.follows else "", tone=_TONES[call.query_class]),
        Cell(rate(average), note=f"peak {rate(busiest)}" if busiest > average else ""),
        Cell(_unless_zero(call.requests), note=f"{number(call.retries)} retries" if call.retries >= _RETRIES else ""),
        Cell(_unless_zero(call.transactions), note="" if is_of_tables else call.cost.by_service),
        *map(_unless_zero, (call.examined, call.returned)),
        "" if call.cost_a_month is None else sum_of_money(call.cost_a_month),
    )


def _unless_zero(value: float) -> str:
    return number(value) if value else ""


def _heat(reviewed: Reviewed) -> Sheet:
    target = reviewed.heats[0].target if reviewed.heats else None
    return Sheet(
        "heat",
        "Hot partitions",
        target_sentence(reviewed),
        columns("Table", "Busiest partition", ">Peak", ">Of target", ">Over target from"),
        tuple(map(_heat_row, hottest_first(reviewed))),
        notes=() if target is None else (f"Peak: entities a second; the target of a partition is {number(target)}.",),
        is_fine=nearest_to_target(reviewed)[0] <= _NEAR,
    )


def _heat_row(heat: TableLoad) -> tuple[Cell, ...]:
    busiest = heat.partitions[0].partition if heat.partitions else "none"
    portion = heat.peak / heat.target
    return row(
        heat.table,
        Cell(plain(busiest), note="changes with time" if heat.follows_time else ""),
        number(heat.peak),
        Cell(share(portion), tone="bad" if portion > 1 else "fair" if portion > _NEAR else "good"),
        "never" if heat.over_target_from is None else time_of_day(heat.over_target_from),
    )


def _limits(reviewed: Reviewed) -> Sheet:
    horizon = reviewed.design.years
    uses = sorted(reviewed.in_sight, key=lambda use: (-use.then / use.most, use.limit, use.subject))
    passed = sum(use.reached is not None for use in uses)
    after, within = (f"{word} {plural(horizon, 'year')}" for word in ("after", "within"))
    what = "No limit of an entity, a key, a transaction or the account is"
    if not uses:
        says = f"{what} nearly reached, now or {after} of the declared growth."
    elif not passed:
        says = f"{what} reached {within} of the declared growth."
    else:
        verb = "is" if passed == 1 else "are"
        says = f"{plural(passed, 'limit')} {verb} reached {within} of the declared growth."
    return Sheet(
        "limits",
        "Limits",
        says,
        columns("Limit", "Where", ">Now", ">After growth", ">Limit", ">Share of limit", "Reached"),
        tuple(_limit(use, horizon) for use in uses),
        notes=(f"After growth: {after}.",) if uses else (),
        is_fine=not passed,
    )


def _limit(use: LimitUse, horizon: float) -> tuple[Cell, ...]:
    portion = use.then / use.most
    tone: Tone = "bad" if use.reached is not None else "fair" if portion > _NEAR else "good"
    figures = (amount(value, use.limit) for value in (use.now, use.then, use.most))
    return row(use.limit, use.subject, *figures, Cell(share(portion), tone=tone), reached(use.reached, horizon))


def _consistency(reviewed: Reviewed) -> Sheet:
    rows = tuple(
        row(
            name_of(entry),
            entry.sees,
            *("" if time is None else f"{number(time)} s" for time in (entry.seconds, entry.seconds_after_crash)),
            entry.without_worker,
        )
        for entry in reviewed.consistency
    )
    return Sheet(
        "consistency",
        "Consistency",
        f"{plural(len(rows), 'access pattern')} may not read the last write, or a crash leaves a part of it."
        if rows
        else "Every access pattern reads the last write, and a crash leaves all of it or nothing.",
        columns("Access pattern", "Readers see, or a crash leaves", ">Usually", ">With a worker", "Without a worker"),
        rows,
        notes=(
            "From a simulated crash after each request. Usually: after a write, at "
            f"{number(ROUND_TRIP * 1_000)} ms a request. With a worker: after a crash of the writer, whose lease ends.",
        ),
        is_fine=not rows,
    )


def _bill(reviewed: Reviewed) -> Sheet:
    bill, horizon = reviewed.bill, reviewed.design.years
    currency = plain(bill.currency)
    now, then = money(bill.total, currency), money(bill.then, currency)
    return Sheet(
        "bill",
        "Monthly cost",
        f"{now} a month now, {then} after {plural(horizon, 'year')}.",
        columns("For", "Unit", ">Quantity", f">{currency}"),
        tuple(
            row(line.subject, line.unit, number(line.quantity), sum_of_money(line.amount))
            for line in sorted(bill.lines, key=lambda line: -line.amount)
        ),
        notes=(f"Prices of {bill.dated.isoformat()}: {plain(bill.source)}. A month has 30.44 days.",),
    )


# -- The review sheet: the page that is printed for a meeting

_MOST_KEYS: Final = 10
_MOST_CALLS: Final = 12
_MOST_OTHERS: Final = 4


def review_sheet(reviewed: Reviewed) -> tuple[Sheet, ...]:
    """Return the tables of the sheet, each with as many rows as fit on the page; the most expensive calls first."""
    by_cost = sorted(reviewed.measured, key=lambda call: (-(call.cost_a_month or 0.0), -call.access.rate))
    calls = _accesses(replace(reviewed, measured=tuple(by_cost)))
    named = tuple((replace(name, code=""), *others) for name, *others in calls.rows)
    return (
        _shortened(replace(_keys(reviewed), title="Keys, and why"), _MOST_KEYS),
        _shortened(replace(calls, rows=named, notes=()), _MOST_CALLS),
        *(
            _shortened(replace(sheet, notes=()), _MOST_OTHERS)
            for sheet in (_heat(reviewed), _limits(reviewed), _consistency(reviewed))
        ),
    )


def _shortened(sheet: Sheet, most: int) -> Sheet:
    left_out = len(sheet.rows) - most
    return sheet if left_out <= 0 else replace(sheet, rows=sheet.rows[:most], notes=(f"{left_out} more are left out.",))


# -- The comparison of two designs, by access pattern

_FIGURES: Final = {">Requests": "requests", ">Billed": "transactions", ">Examined": "examined"}
"""The attributes of the figures, by their headings."""


def comparison(before: Reviewed, after: Reviewed) -> tuple[Sheet, ...]:
    return _compared_calls(before, after), _compared_totals(before, after), _compared_findings(before, after)


def _compared_calls(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = ({_identity(call): call for call in reviewed.measured} for reviewed in (before, after))
    keys = [*old, *(key for key in new if key not in old)]
    return Sheet(
        "access-patterns",
        f"{plain(before.design.name)} → {plain(after.design.name)}",
        "The figures of one call of each access pattern, before and after.",
        columns("Access pattern", "Class", *_FIGURES, ">A month"),
        tuple(_compared_call(old.get(key), new.get(key)) for key in keys),
    )


def _identity(measured_set: Measured) -> tuple[str, str, bool]:
    """Return what is compared: the retention and the archive of a set stay the same if their days or place change."""
    name = measured_set.access.name
    if measured_set.is_implied:
        name = "retention" if is_of_retention(measured_set.of, measured_set.access) else "archive"
    return measured_set.of.name, name, measured_set.is_implied


def _compared_call(old: Measured | None, new: Measured | None) -> tuple[Cell, ...]:
    names = [name_of(call) for call in (old, new) if call is not None]
    return row(_pair(names[0], names[-1]), *map(_pair, _figures_of(old), _figures_of(new)))


def _figures_of(call: Measured | None) -> list[str]:
    if call is None:
        return ["none"] * (2 + len(_FIGURES))
    cost = "none" if call.cost_a_month is None else sum_of_money(call.cost_a_month)
    return [class_of(call), *(number(getattr(call, name)) for name in _FIGURES.values()), cost]


def _pair(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"


def _compared_totals(before: Reviewed, after: Reviewed) -> Sheet:
    figures: dict[str, Callable[[Reviewed], str]] = {
        "Cost a month": lambda reviewed: money(reviewed.bill.total, reviewed.bill.currency),
        "Cost after growth": lambda reviewed: money(reviewed.bill.then, reviewed.bill.currency),
        "Busiest partition": lambda reviewed: share(reviewed.busiest),
        "Peak of the account": lambda reviewed: share(reviewed.account.peak / reviewed.account.target),
    }
    return Sheet(
        "totals",
        "Totals",
        "Shares are of the target of a partition or of the account.",
        columns("Figure", ">Before", ">After"),
        tuple(row(name, figure(before), figure(after)) for name, figure in figures.items()),
    )


def _compared_findings(before: Reviewed, after: Reviewed) -> Sheet:
    old, new = (
        {(one.rule, one.subject): one for first in reviewed.findings for one in (first, *first.resolves)}
        for reviewed in (before, after)
    )
    changes = [("resolved", key, old[key]) for key in old if key not in new]
    changes += [("new", key, new[key]) for key in new if key not in old]
    changes += [("still there", key, new[key]) for key in new if key in old]
    return Sheet(
        "findings",
        "Findings",
        "Findings that are resolved, new or unchanged." if changes else "Neither design has findings.",
        columns("Change", "Severity", "Subject", "Rule"),
        tuple(row(change, SEVERITIES[finding.severity], key[1], key[0]) for change, key, finding in changes),
    )
