"""JSON schema: the typed dictionaries that the report in JSON is made of, outermost last.

Keys may be added within a schema; where one goes or changes its meaning, `schema` is raised. Figures have six
significant digits. A figure without a bound is null. What the design names is as the design has it.
"""

from __future__ import annotations

from typing import TypedDict


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
    """A partition: entities a second, the most in each hour of the day; `refused` and `share` from 0 to 1."""

    partition: str
    peak: float | None
    peaks_by_hour: list[float | None]
    refused: float | None
    share: float | None


class HeatJson(TypedDict):
    """A table; `saturated` is in seconds from the start of the day, null for never."""

    table: str
    target: float | None
    ceiling: float | None
    saturated: float | None
    moving: bool
    buckets: int
    cooled: float | None
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


class PromiseJson(TypedDict):
    """What a reader sees, what a crash leaves, and what brings it right."""

    set: str
    name: str
    reads: str
    crash: str
    mended: str


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
    heat: list[HeatJson]
    account: AccountJson
    limits: list[LimitJson]
    consistency: list[PromiseJson]
    bill: BillJson
