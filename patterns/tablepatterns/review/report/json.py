"""JSON: the report for programs. Its schema is the typed dictionaries of `json_schema`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

from ..declaring.declared import DeclaredSet, Query
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
        "kind": "query" if isinstance(access, Query) else access.deed,
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


def _heat(heat: Heat) -> HeatJson:
    return {
        "table": heat.table,
        "target": figure(heat.target),
        "ceiling": figure(heat.ceiling),
        "saturated": figure(heat.saturated),
        "moving": heat.moving,
        "buckets": heat.buckets,
        "cooled": figure(heat.cooled),
        "partitions": list(map(_partition, heat.partitions)),
        "others": heat.others,
    }


def _partition(found: PartitionHeat) -> PartitionJson:
    return {
        "partition": found.partition,
        "peak": figure(found.peak),
        "peaks_by_hour": _by_hour(found.rates),
        "refused": figure(found.refused),
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
