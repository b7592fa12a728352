"""The tables of a report as data, which each format renders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tablepatterns.figures import amount, money, number, plural, rate, share, sum_of_money, time_of_day
from tablepatterns.filters import QueryClass

from ..design.model import DeclaredLog, DeclaredSet
from ..estimate import PAGE_READS
from ..model import Consistency, LimitUse, Measured, Reviewed, TableLoad
from .formatting import class_of, hottest_first, name_of, plain, reached, scans, target_sentence

Tone = Literal["plain", "good", "fair", "bad"]


@dataclass(frozen=True)
class Cell:
    """The content of a table cell.

    :param code: a call, shown below the text
    :param note: a remark, shown below the text
    :param tone: whether it is good or bad; the text must say so too
    """

    text: str
    code: str = ""
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    :param name: the heading
    :param figures: whether it holds figures, which are right-aligned
    """

    name: str
    figures: bool = False


@dataclass(frozen=True)
class Sheet:
    """One table of a report.

    :param name: its name in links
    :param title: the heading
    :param says: a sentence on what it shows
    :param rows: the rows; if there are none, `says` explains why
    :param total: the last line, with the totals
    :param notes: how to read the table
    """

    name: str
    title: str
    says: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()


_TONES: Final[dict[QueryClass | None, Tone]] = {
    None: "plain",
    QueryClass.POINT: "good",
    QueryClass.RANGE: "good",
    QueryClass.PARTITION_SCAN: "fair",
    QueryClass.TABLE_SCAN: "bad",
}
_NEAR: Final = 0.5
_RETRIES: Final = 0.05
_LEAST_HEADROOM: Final = 0.01


_SCAN_NOTE: Final = (
    f"A scan sends one request per 1,000 results, or per {number(PAGE_READS)} entities read: a page ends after five "
    "seconds, in which the service is assumed to read that many. Pages also end at the boundaries of partition ranges."
)


_LOG_NOTE: Final = (
    "For a blob log, a write is one entry, with its share of the flush that writes it; a read returns bytes of blobs, "
    "not entities."
)


def sheets(reviewed: Reviewed) -> tuple[Sheet, ...]:
    """Return all tables of the report, in order."""
    return (
        _accesses(reviewed),
        _heat(reviewed),
        _limits(reviewed),
        _promises(reviewed),
        _bill(reviewed),
    )


def _accesses(reviewed: Reviewed) -> Sheet:
    found = scans(reviewed)
    scanning = "none of them scans" if not found else f"{number(found)} of them {'scans' if found == 1 else 'scan'}"
    count = len(reviewed.measured)
    capped = [
        measured_set
        for measured_set in reviewed.measured
        if isinstance(measured_set.of, DeclaredSet) and measured_set.sample < measured_set.of.shape.count
    ]
    made = max((measured_set.sample for measured_set in capped), default=0)
    notes = [
        "Figures are for one call, on average. Billed: storage transactions, including those of workers; table "
        "transactions, unless another service is named. "
        "Examined: entities that the service reads.",
        *([_LOG_NOTE] if any(isinstance(measured_set.of, DeclaredLog) for measured_set in reviewed.measured) else []),
        *([_SCAN_NOTE] if any(measured_set.examined > PAGE_READS for measured_set in reviewed.measured) else []),
        *([f"Larger sets were measured with a sample of {number(made)} entities and scaled up."] if capped else []),
    ]
    return Sheet(
        "access-patterns",
        "Access patterns",
        f"{plural(count, 'access pattern')}, and {scanning}." if count else "The design declares no access pattern.",
        (
            Column("Access pattern"),
            Column("Class"),
            Column("Rate"),
            *(Column(name, figures=True) for name in ("Requests", "Billed", "Examined", "Returned", "Written")),
            Column(f"{plain(reviewed.bill.currency)} a month", figures=True),
        ),
        tuple(_access(measured_set) for measured_set in reviewed.measured),
        notes=tuple(notes) if count else (),
    )


def _access(measured_set: Measured) -> tuple[Cell, ...]:
    busiest = measured_set.access.busiest
    figures = (measured_set.examined, measured_set.returned, measured_set.written)
    is_of_tables = measured_set.cost.table == measured_set.cost.transactions
    return (
        Cell(name_of(measured_set), plain(measured_set.how)),
        Cell(
            class_of(measured_set),
            note="eventually consistent" if measured_set.follows else "",
            tone=_TONES[measured_set.query_class],
        ),
        Cell(
            rate(measured_set.access.rate), note=f"peak {rate(busiest)}" if busiest > measured_set.access.rate else ""
        ),
        Cell(
            number(measured_set.requests) if measured_set.requests else "",
            note=f"{number(measured_set.retries)} retries" if measured_set.retries >= _RETRIES else "",
        ),
        Cell(
            number(measured_set.transactions) if measured_set.transactions else "",
            note="" if is_of_tables else measured_set.cost.by_service,
        ),
        *(Cell(number(value) if value else "") for value in figures),
        Cell("" if measured_set.cost_a_month is None else sum_of_money(measured_set.cost_a_month)),
    )


def _heat(reviewed: Reviewed) -> Sheet:
    return Sheet(
        "heat",
        "Hot partitions",
        target_sentence(reviewed),
        (
            Column("Table"),
            Column("Busiest partition"),
            *(
                Column(name, figures=True)
                for name in ("Peak", "Of target", "Over target from", "Throttled", "Headroom")
            ),
            Column("With buckets"),
        ),
        tuple(_heat_row(table_load) for table_load in hottest_first(reviewed)),
        notes=(
            f"Peak: entities a second; the target of a partition is {number(reviewed.heats[0].target)}. "
            "Headroom: the factor by which all rates can grow before a partition reaches its target."
            if reviewed.heats
            else "No load was simulated.",
        ),
    )


def _heat_row(heat: TableLoad) -> tuple[Cell, ...]:
    first = heat.partitions[0] if heat.partitions else None
    peak = first.peak if first else 0.0
    portion = peak / heat.target
    tone: Tone = "bad" if portion > 1 else "fair" if portion > _NEAR else "good"
    spread = f"{number(heat.buckets)} buckets: {share(heat.spread_peak / heat.target)}"
    return (
        Cell(plain(heat.table)),
        Cell(plain(first.partition) if first else "none", note="changes with time" if heat.follows_time else ""),
        Cell(number(peak)),
        Cell(share(portion), tone=tone),
        Cell("never" if heat.over_target_from is None else time_of_day(heat.over_target_from)),
        Cell(share(first.throttled) if first else "0%"),
        Cell((f"× {number(heat.headroom)}" if heat.headroom >= _LEAST_HEADROOM else "none") if peak else ""),
        Cell("not needed" if heat.buckets <= 1 else spread if heat.spread_peak <= heat.target else "not enough"),
    )


def _limits(reviewed: Reviewed) -> Sheet:
    horizon = reviewed.design.years
    limit_uses = sorted(
        reviewed.in_sight, key=lambda limit_use: (-limit_use.then / limit_use.most, limit_use.limit, limit_use.subject)
    )
    passed = [limit_use for limit_use in limit_uses if limit_use.reached is not None]
    years = plural(horizon, "year")
    after, within = f"after {years}", f"within {years}"
    if not limit_uses:
        says = (
            "No limit of an entity, a key, a transaction or the account is nearly reached, "
            f"now or {after} of the declared growth."
        )
    elif not passed:
        says = f"No limit of an entity, a key, a transaction or the account is reached {within} of the declared growth."
    else:
        verb = "is" if len(passed) == 1 else "are"
        says = f"{plural(len(passed), 'limit')} {verb} reached {within} of the declared growth."
    return Sheet(
        "limits",
        "Limits",
        says,
        (
            Column("Limit"),
            Column("Where"),
            *(Column(name, figures=True) for name in ("Now", "After growth", "Limit", "Share of limit")),
            Column("Reached"),
        ),
        tuple(_limit(limit_use, horizon) for limit_use in limit_uses),
        notes=(f"After growth: {after}.",) if limit_uses else (),
    )


def _limit(limit_use: LimitUse, horizon: float) -> tuple[Cell, ...]:
    portion = limit_use.then / limit_use.most
    tone: Tone = "bad" if limit_use.reached is not None else "fair" if portion > _NEAR else "good"
    figures = (limit_use.now, limit_use.then, limit_use.most)
    return (
        Cell(plain(limit_use.limit)),
        Cell(plain(limit_use.subject)),
        *(Cell(amount(value, limit_use.limit)) for value in figures),
        Cell(share(portion), tone=tone),
        Cell(reached(limit_use.reached, horizon)),
    )


def _promises(reviewed: Reviewed) -> Sheet:
    late = sum(1 for measured_set in reviewed.measured if measured_set.follows)
    verb = "uses" if late == 1 else "use"
    says = f"{plural(late, 'access pattern')} {verb} eventually consistent data." if late else "All data is consistent."
    return Sheet(
        "consistency",
        "Consistency",
        says if reviewed.promises else "The design declares no access pattern.",
        (
            Column("Access pattern"),
            Column("Readers see"),
            Column("A crash leaves"),
            Column("Repaired by"),
        ),
        tuple(_promise(consistency) for consistency in reviewed.promises),
    )


def _promise(consistency: Consistency) -> tuple[Cell, ...]:
    return (
        Cell(f"{plain(consistency.of.name)}: {plain(consistency.access.name)}"),
        *(Cell(plain(text)) for text in (consistency.reads, consistency.crash, consistency.repaired_by)),
    )


def _bill(reviewed: Reviewed) -> Sheet:
    bill, horizon = reviewed.bill, reviewed.design.years
    lines = sorted(bill.lines, key=lambda bill_line: -bill_line.amount)
    currency = plain(bill.currency)
    now, then = money(bill.total, currency), money(bill.then, currency)
    return Sheet(
        "bill",
        "Monthly cost",
        f"{now} a month now, {then} after {plural(horizon, 'year')}.",
        (
            Column("For"),
            Column("Unit"),
            Column("Quantity", figures=True),
            Column(currency, figures=True),
        ),
        tuple(
            (
                Cell(plain(bill_line.subject)),
                Cell(plain(bill_line.unit)),
                Cell(number(bill_line.quantity)),
                Cell(sum_of_money(bill_line.amount)),
            )
            for bill_line in lines
        ),
        total=(Cell("Total"), Cell(""), Cell(""), Cell(sum_of_money(bill.total))),
        notes=(f"Prices of {bill.dated.isoformat()}: {plain(bill.source)}. A month has 30.44 days.",),
    )
