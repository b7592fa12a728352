"""Write a review as JSON; its schema is the typed dictionaries below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Final, TypedDict

from ..design.model import DeclaredSet, Query
from ..model import Finding, PartitionLoad, Reviewed, TableLoad
from .formatting import SEVERITIES, Cost, class_of, costs


class SetJson(TypedDict):
    """A declared set."""

    name: str
    table: str
    partition_key: str
    row_key: str
    pattern: str
    derived: list[str]
    entity: str
    count: int
    growth: float | None


class DesignJson(TypedDict):
    """The design; `years` is how far ahead its growth was followed."""

    name: str
    years: float | None
    sets: list[SetJson]


class FindingJson(TypedDict):
    """A finding; `severity` is `serious`, `warning` or `note`, `pattern` a name of the catalogue."""

    rule: str
    severity: str
    subject: str
    says: str
    why: str
    better: str
    pattern: str | None
    trade_offs: list[str]
    guide: str


class AccessJson(TypedDict):
    """An access pattern, and what one call of it took.

    `rate` and `peak` are calls in a second. `kind` is `query`, `insert`, `update` or `delete`; `query_class` is `point
    query`, `range query`, `partition scan`, `table scan` or `write`. `sample` is how many entities were made,
    `cost_a_month` null where the bill has no line for it.
    """

    set: str
    name: str
    kind: str
    how: str
    via: str | None
    query_class: str
    rate: float | None
    peak: float | None
    requests: float | None
    transactions: float | None
    examined: float | None
    returned: float | None
    written: float | None
    bytes_in: float | None
    bytes_out: float | None
    partitions: float | None
    follows: bool
    sample: int
    transactions_a_month: float | None
    cost_a_month: float | None


class PartitionJson(TypedDict):
    """A partition: entities a second, the most in each hour of the day; `throttled` and `share` from 0 to 1."""

    partition: str
    peak: float | None
    peaks_by_hour: list[float | None]
    throttled: float | None
    share: float | None


class TableLoadJson(TypedDict):
    """A table; `over_target_from` is in seconds from the start of the day, null for never."""

    table: str
    target: float | None
    headroom: float | None
    over_target_from: float | None
    follows_time: bool
    buckets: int
    spread_peak: float | None
    partitions: list[PartitionJson]
    others: int


class AccountJson(TypedDict):
    """The account: requests a second, the most in each hour of the day."""

    target: float | None
    peak: float | None
    peaks_by_hour: list[float | None]


class LimitJson(TypedDict):
    """A limit in sight; `reached` is in years, null for not within the declared growth."""

    limit: str
    subject: str
    now: float | None
    then: float | None
    most: float | None
    reached: float | None


class ConsistencyJson(TypedDict):
    """What a reader sees, what a crash leaves, and what brings it right."""

    set: str
    name: str
    reads: str
    crash: str
    repaired_by: str


class BillLineJson(TypedDict):
    """A line of the bill of a month."""

    subject: str
    unit: str
    quantity: float | None
    amount: float | None


class BillJson(TypedDict):
    """The bill of a month; `dated` is the day of the price table, as YYYY-MM-DD."""

    currency: str
    dated: str
    source: str
    total: float | None
    then: float | None
    lines: list[BillLineJson]


class ReviewJson(TypedDict):
    """The whole report; `severity` is that of the worst finding, null for none."""

    schema: int
    design: DesignJson
    severity: str | None
    findings: list[FindingJson]
    access_patterns: list[AccessJson]
    heat: list[TableLoadJson]
    account: AccountJson
    limits: list[LimitJson]
    consistency: list[ConsistencyJson]
    bill: BillJson


SCHEMA: Final = 1
_DIGITS: Final = 6
_HOURS: Final = 24


def as_json(reviewed: Reviewed) -> str:
    """Return the report in JSON, indented, with a line break at its end.

    Guarantees: the same review gives the same bytes, and what `json.loads` makes of them can be written again alike.

    Cost: nothing.

    :param reviewed: what `review` found out
    """
    return json.dumps(document(reviewed), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def document(reviewed: Reviewed) -> ReviewJson:
    """Return the report as dictionaries, lists, texts and figures."""
    design, worst, account = reviewed.design, reviewed.severity, reviewed.account
    return {
        "schema": SCHEMA,
        "design": {"name": design.name, "years": figure(design.years), "sets": list(map(_set, design.sets))},
        "severity": None if worst is None else SEVERITIES[worst],
        "findings": list(map(_finding, reviewed.findings)),
        "access_patterns": _accesses(reviewed),
        "heat": list(map(_heat, reviewed.heats)),
        "account": {
            "target": figure(account.target),
            "peak": figure(max(account.rates, default=0.0)),
            "peaks_by_hour": _by_hour(account.rates),
        },
        "limits": [
            {
                "limit": each.limit,
                "subject": each.subject,
                "now": figure(each.now),
                "then": figure(each.then),
                "most": figure(each.most),
                "reached": figure(each.reached),
            }
            for each in reviewed.in_sight
        ],
        "consistency": [
            {
                "set": each.of.name,
                "name": each.access.name,
                "reads": each.reads,
                "crash": each.crash,
                "repaired_by": each.repaired_by,
            }
            for each in reviewed.promises
        ],
        "bill": _bill(reviewed),
    }


def _set(declared: DeclaredSet) -> SetJson:
    return {
        "name": declared.name,
        "table": declared.table,
        "partition_key": declared.key.partition_template,
        "row_key": declared.key.row_template,
        "pattern": declared.pattern,
        "derived": [each.name for each in declared.derived],
        "entity": declared.shape.entity,
        "count": declared.shape.count,
        "growth": figure(declared.shape.growth),
    }


def _finding(finding: Finding) -> FindingJson:
    return {
        "rule": finding.rule,
        "severity": SEVERITIES[finding.severity],
        "subject": finding.subject,
        "says": finding.says,
        "why": finding.why,
        "better": finding.better,
        "pattern": finding.pattern,
        "trade_offs": list(finding.trade_offs),
        "guide": finding.guide,
    }


def _accesses(reviewed: Reviewed) -> list[AccessJson]:
    found = {id(each.of): each for each in costs(reviewed)}
    return [_access(found[id(each)]) for each in reviewed.measured]


def _access(cost: Cost) -> AccessJson:
    found = cost.of
    access = found.access
    return {
        "set": found.of.name,
        "name": access.name,
        "kind": "query" if isinstance(access, Query) else access.operation,
        "how": found.how,
        "via": found.via,
        "query_class": class_of(found),
        "rate": figure(access.rate),
        "peak": figure(access.busiest),
        "requests": figure(found.requests),
        "transactions": figure(found.transactions),
        "examined": figure(found.examined),
        "returned": figure(found.returned),
        "written": figure(found.written),
        "bytes_in": figure(found.bytes_in),
        "bytes_out": figure(found.bytes_out),
        "partitions": figure(found.partitions),
        "follows": found.follows,
        "sample": found.sample,
        "transactions_a_month": figure(cost.transactions),
        "cost_a_month": figure(cost.money),
    }


def _heat(heat: TableLoad) -> TableLoadJson:
    return {
        "table": heat.table,
        "target": figure(heat.target),
        "headroom": figure(heat.headroom),
        "over_target_from": figure(heat.over_target_from),
        "follows_time": heat.follows_time,
        "buckets": heat.buckets,
        "spread_peak": figure(heat.spread_peak),
        "partitions": list(map(_partition, heat.partitions)),
        "others": heat.others,
    }


def _partition(found: PartitionLoad) -> PartitionJson:
    return {
        "partition": found.partition,
        "peak": figure(found.peak),
        "peaks_by_hour": _by_hour(found.rates),
        "throttled": figure(found.throttled),
        "share": figure(found.share),
    }


def _bill(reviewed: Reviewed) -> BillJson:
    bill = reviewed.bill
    return {
        "currency": bill.currency,
        "dated": bill.dated.isoformat(),
        "source": bill.source,
        "total": figure(bill.total),
        "then": figure(bill.then),
        "lines": [
            {
                "subject": each.subject,
                "unit": each.unit,
                "quantity": figure(each.quantity),
                "amount": figure(each.amount),
            }
            for each in bill.lines
        ],
    }


def _by_hour(rates: Sequence[float]) -> list[float | None]:
    """Return the highest rate of each hour of the day; nothing where there are fewer rates than hours."""
    if len(rates) < _HOURS:
        return []
    starts = [hour * len(rates) // _HOURS for hour in range(_HOURS + 1)]
    return [figure(max(rates[start:end])) for start, end in pairwise(starts)]


def figure(value: float | None) -> float | None:
    """Return a figure with six significant digits, whole where it is; null where it has no bound."""
    if value is None or not isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded
