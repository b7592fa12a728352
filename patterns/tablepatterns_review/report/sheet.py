"""The review sheet: the tables of the one page that is printed for a meeting."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tablepatterns.figures import money, number, rate, sum_of_money

from ..design.model import part_of
from ..result import Measured, Reviewed
from .formatting import class_of, name_of
from .tables import Cell, Sheet, columns, heat_sheet, keys_sheet, limits_sheet, row

_MOST_KEYS: Final = 10
_MOST_CALLS: Final = 14
_MOST_OTHERS: Final = 6
_RATES: Final = (10.0, 1_000.0, 10_000.0)
"""The requests per second for which the cost of a month is given."""


def review_sheet(reviewed: Reviewed) -> tuple[Sheet, ...]:
    """Return the tables of the sheet, each with as many rows as fit on the page."""
    return (
        _shortened(replace(keys_sheet(reviewed), title="Keys, and why"), _MOST_KEYS),
        _shortened(_calls(reviewed), _MOST_CALLS),
        _shortened(replace(heat_sheet(reviewed), notes=()), _MOST_OTHERS),
        _cost(reviewed),
        _shortened(replace(limits_sheet(reviewed), notes=()), _MOST_OTHERS),
    )


def _shortened(sheet: Sheet, most: int) -> Sheet:
    left_out = len(sheet.rows) - most
    return sheet if left_out <= 0 else replace(sheet, rows=sheet.rows[:most], notes=(f"{left_out} more are left out.",))


def _calls(reviewed: Reviewed) -> Sheet:
    by_cost = sorted(reviewed.measured, key=lambda call: (-(call.cost_a_month or 0.0), -call.access.rate))
    headings = ("Access pattern", "Class", "Rate", ">Rows read", ">Returned", ">Stale", ">After a crash")
    return Sheet(
        "calls",
        "Access patterns",
        "The most expensive first. Stale: how long readers may not see the last write; after a crash of the writer "
        "with a worker, and without one.",
        columns(*headings, "Without a worker", f">{reviewed.bill.currency} a month"),
        tuple(_call(reviewed, call) for call in by_cost),
    )


def _call(reviewed: Reviewed, call: Measured) -> tuple[Cell, ...]:
    average, busiest = call.access.rate, call.access.busiest
    late = next((one for one in reviewed.consistency if name_of(one) == name_of(call)), None)
    seconds = (late.seconds, late.seconds_after_crash) if late else (None, None)
    return row(
        name_of(call),
        class_of(call),
        f"{rate(average)}, peak {rate(busiest)}" if busiest > average else rate(average),
        number(call.examined) if call.examined else "",
        number(call.returned) if call.returned else "",
        *("" if value is None else f"{number(value)} s" for value in seconds),
        late.without_worker if late else "",
        "" if call.cost_a_month is None else sum_of_money(call.cost_a_month),
    )


def _cost(reviewed: Reviewed) -> Sheet:
    """Return the cost of a month at other rates: transactions follow the rates, the stored bytes stay as they are."""
    bill = reviewed.bill
    calls = {part_of(call.of.name, call.access.name) for call in reviewed.measured}
    of_calls = sum(line.amount for line in bill.lines if line.subject in calls)
    requests = sum(call.requests * call.rate for call in reviewed.measured)
    rates = [("as declared", bill.total)]
    if requests:
        rates += [(f"{number(at)}/s", bill.total - of_calls + of_calls * at / requests) for at in _RATES]
    return Sheet(
        "cost",
        "Cost a month",
        f"The declared rates are {number(requests)} requests a second. Data as stored now.",
        columns(*(f">{name}" for name, _ in rates)),
        (row(*(money(amount, bill.currency) for _, amount in rates)),),
    )
