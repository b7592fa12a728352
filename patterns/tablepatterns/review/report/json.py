"""JSON: the report for programs. Its schema is the typed dictionaries of `json_schema`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

from ..declared import DeclaredSet, Query
from ..outcome import Finding, Heat, PartitionHeat, Reviewed
from .advice import SEVERITIES
from .json_schema import AccessJson, BillJson, FindingJson, HeatJson, PartitionJson, ReviewJson, SetJson
from .sentences import Cost, class_of, costs

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
        "design": {"name": design.name, "years": _figure(design.years), "sets": list(map(_set, design.sets))},
        "severity": None if worst is None else SEVERITIES[worst],
        "findings": list(map(_finding, reviewed.findings)),
        "access_patterns": _accesses(reviewed),
        "heat": list(map(_heat, reviewed.heats)),
        "account": {
            "target": _figure(account.target),
            "peak": _figure(max(account.rates, default=0.0)),
            "peaks_by_hour": _by_hour(account.rates),
        },
        "limits": [
            {
                "limit": each.limit,
                "subject": each.subject,
                "now": _figure(each.now),
                "then": _figure(each.then),
                "most": _figure(each.most),
                "reached": _figure(each.reached),
            }
            for each in reviewed.in_sight
        ],
        "consistency": [
            {
                "set": each.of.name,
                "name": each.access.name,
                "reads": each.reads,
                "crash": each.crash,
                "mended": each.mended,
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
        "growth": _figure(declared.shape.growth),
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
        "kind": "query" if isinstance(access, Query) else access.deed,
        "how": found.how,
        "via": found.via,
        "query_class": class_of(found),
        "rate": _figure(access.rate),
        "peak": _figure(access.busiest),
        "requests": _figure(found.requests),
        "transactions": _figure(found.transactions),
        "examined": _figure(found.examined),
        "returned": _figure(found.returned),
        "written": _figure(found.written),
        "bytes_in": _figure(found.bytes_in),
        "bytes_out": _figure(found.bytes_out),
        "partitions": _figure(found.partitions),
        "follows": found.follows,
        "sample": found.sample,
        "transactions_a_month": _figure(cost.transactions),
        "cost_a_month": _figure(cost.money),
    }


def _heat(heat: Heat) -> HeatJson:
    return {
        "table": heat.table,
        "target": _figure(heat.target),
        "ceiling": _figure(heat.ceiling),
        "saturated": _figure(heat.saturated),
        "moving": heat.moving,
        "buckets": heat.buckets,
        "cooled": _figure(heat.cooled),
        "partitions": list(map(_partition, heat.partitions)),
        "others": heat.others,
    }


def _partition(found: PartitionHeat) -> PartitionJson:
    return {
        "partition": found.partition,
        "peak": _figure(found.peak),
        "peaks_by_hour": _by_hour(found.rates),
        "refused": _figure(found.refused),
        "share": _figure(found.share),
    }


def _bill(reviewed: Reviewed) -> BillJson:
    bill = reviewed.bill
    return {
        "currency": bill.currency,
        "dated": bill.dated.isoformat(),
        "source": bill.source,
        "total": _figure(bill.total),
        "then": _figure(bill.then),
        "lines": [
            {
                "subject": each.subject,
                "unit": each.unit,
                "quantity": _figure(each.quantity),
                "amount": _figure(each.amount),
            }
            for each in bill.lines
        ],
    }


def _by_hour(rates: Sequence[float]) -> list[float | None]:
    """Return the highest rate of each hour of the day; nothing where there are fewer rates than hours."""
    if len(rates) < _HOURS:
        return []
    starts = [hour * len(rates) // _HOURS for hour in range(_HOURS + 1)]
    return [_figure(max(rates[start:end])) for start, end in pairwise(starts)]


def _figure(value: float | None) -> float | None:
    """Return a figure with six significant digits, whole where it is; null where it has no bound."""
    if value is None or not isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded == int(rounded) else rounded
