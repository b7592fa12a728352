"""The result of a review as data, from which every report format is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum
from itertools import pairwise
from typing import ClassVar, Final, Generic, Literal

from typing_extensions import TypeVar

from tablepatterns.cost import Cost
from tablepatterns.entity_set.derived import Derived
from tablepatterns.figures import SECONDS_OF_A_MONTH
from tablepatterns.filters import QueryClass

from .design.model import DeclaredSet, Design, Query, Write, part_of

AccessT_co = TypeVar("AccessT_co", bound=Query | Write, default=Query | Write, covariant=True)


class Severity(IntEnum):
    """How much a finding matters."""

    NOTE = 1
    """Good to know; nothing has to change."""
    WARNING = 2
    """It costs money, time or consistency that another design would save."""
    SERIOUS = 3
    """It fails at the declared rates, sizes or growth."""


_HOURS: Final = 24


class _Day:
    """The load of a simulated day, by steps of equal length."""

    IN_JSON: ClassVar[Mapping[str, str]] = {"peak": "peak", "peaks_by_hour": "peaks_by_hour"}
    rates: tuple[float, ...]

    @property
    def peak(self) -> float:
        """The highest load per second."""
        return max(self.rates, default=0.0)

    @property
    def peaks_by_hour(self) -> tuple[float, ...]:
        """The highest load of each hour of the day; empty if there are fewer rates than hours."""
        if len(self.rates) < _HOURS:
            return ()
        starts = [hour * len(self.rates) // _HOURS for hour in range(_HOURS + 1)]
        return tuple(max(self.rates[start:end]) for start, end in pairwise(starts))


@dataclass(frozen=True)
class Measured(Generic[AccessT_co]):
    """The measured figures of one call of an access pattern, at the declared number of entities.

    A set with too many entities is measured with a sample, and the figures that depend on their number are scaled.

    :param how: the library call that was measured, such as `find(<email_{Email}>, ...)`
    :param via: the name of the derived data that the call reads; None if it reads the primary rows
    :param query_class: the worst class of its queries; None for a write
    :param requests: the number of round trips
    :param transactions: the billed storage transactions, including those of workers that finish the call's work
    :param examined: the number of entities that the service reads
    :param returned: the number of entities in the responses
    :param matching: the number of returned entities that the caller asked for; None if all of them
    :param written: the number of entities written or deleted
    :param bytes_in: the bytes sent to the service
    :param bytes_out: the bytes that the service returns
    :param partitions: the number of partitions of the table that the call touches
    :param follows: whether the derived data that the call writes or reads is eventually consistent
    :param sample: the number of entities in the sample
    :param queue_operations: the queue operations among the transactions
    :param blob_reads: the blob reads among the transactions, and operations billed as such
    :param blob_writes: the blob writes among the transactions, and operations billed as such, such as listing
    :param blob_deletes: the blob deletes among the transactions; they are free
    :param share: the share of its calls that are not part of another access pattern's transaction, from 0 to 1
    :param is_implied: whether the access pattern follows from the retention, instead of being declared
    :param rejected: why the service or the recipe rejects the call; None if it does not
    :param retries: the average number of retries of a call after conflicts with other writers
    :param cost_a_month: the cost of its calls per month; None if the bill has no line for it
    """

    IN_JSON: ClassVar[Mapping[str, str]] = {
        "kind": "kind",
        "rate": "rate",
        "peak": "busiest",
        "transactions_a_month": "transactions_a_month",
    }

    of: DeclaredSet = field(metadata={"json": "set"})
    access: AccessT_co = field(metadata={"json": "name"})
    how: str
    via: str | None
    query_class: QueryClass | None
    requests: float
    transactions: float
    examined: float
    returned: float
    written: float
    bytes_in: float
    bytes_out: float
    partitions: float
    follows: bool
    sample: int
    queue_operations: float = 0.0
    blob_reads: float = 0.0
    blob_writes: float = 0.0
    blob_deletes: float = 0.0
    share: float = 1.0
    is_implied: bool = False
    rejected: str | None = None
    retries: float = 0.0
    matching: float | None = None
    cost_a_month: float | None = None

    @property
    def subject(self) -> str:
        """The subject of findings about the access pattern, and of its lines in the bill."""
        return part_of(self.of.name, self.access.name)

    @property
    def derived(self) -> Derived | None:
        """The derived data that the call reads; None for the primary rows."""
        return next((derived for derived in self.of.derived if derived.name == self.via), None)

    @property
    def kind(self) -> str:
        """The kind of access: `query`, or the operation of a write."""
        return self.access.operation if isinstance(self.access, Write) else "query"

    @property
    def transactions_a_month(self) -> float:
        """The storage transactions of a month."""
        return self.transactions * self.rate * SECONDS_OF_A_MONTH

    @property
    def rate(self) -> float:
        """Calls per second that are not part of another access pattern's transaction, averaged over a day."""
        return self.access.rate * self.share

    @property
    def busiest(self) -> float:
        """Calls per second that are not part of another access pattern's transaction, at the busiest time."""
        return self.access.busiest * self.share

    @property
    def cost(self) -> Cost:
        """The transactions by service."""
        other_cost = Cost(0, self.queue_operations, self.blob_reads, self.blob_writes, blob_delete=self.blob_deletes)
        return other_cost + Cost(table=max(0.0, self.transactions - other_cost.transactions))


@dataclass(frozen=True)
class PartitionLoad(_Day):
    """The load of one partition in entities per second, for each step of a day.

    :param share: its share of the load of its table, from 0 to 1
    """

    table: str
    partition: str
    rates: tuple[float, ...] = field(metadata={"json": None})
    share: float


@dataclass(frozen=True)
class TableLoad:
    """The load of the partitions of one table during a simulated day.

    :param step: the seconds between two rates
    :param partitions: the busiest partitions, in descending order; no more than the report can show
    :param others: the number of partitions that are left out
    :param target: the scalability target of one partition, in entities per second
    :param headroom: the factor by which all rates can grow before a partition reaches the target
    :param over_target_from: the second of the day at which a partition first exceeds the target; None if none does
    :param follows_time: whether the key follows time, so that the busiest partition changes
    :param buckets: the number of buckets that keeps the busiest partition below half the target; 1 if one is enough
    :param spread_peak: the peak of the busiest partition with that many buckets
    """

    table: str
    step: float
    partitions: tuple[PartitionLoad, ...]
    others: int
    target: float
    headroom: float
    over_target_from: float | None
    follows_time: bool
    buckets: int
    spread_peak: float

    @property
    def peak(self) -> float:
        """The peak load of the busiest partition, in entities per second."""
        return max((partition_load.peak for partition_load in self.partitions), default=0.0)


@dataclass(frozen=True)
class AccountLoad(_Day):
    """The requests of the whole account per second during a simulated day.

    :param rates: the requests per second at each step
    :param target: the scalability target of an account, in requests per second
    """

    step: float
    rates: tuple[float, ...] = field(metadata={"json": None})
    target: float


@dataclass(frozen=True)
class LimitUse:
    """A limit, and how much of it a design uses.

    :param limit: the limited quantity, such as `bytes of an entity`
    :param subject: the part of the design that it applies to, such as the set's name
    :param now: the current value
    :param then: the value at the end of the declared growth
    :param most: the maximum value
    :param reached: the years until the maximum is exceeded; None if it is not exceeded within the declared growth
    """

    limit: str
    subject: str
    now: float
    then: float
    most: float
    reached: float | None


@dataclass(frozen=True)
class BillLine:
    """One line of a monthly bill.

    :param subject: the access pattern or the set
    :param quantity: the number of units per month
    """

    subject: str
    unit: str
    quantity: float
    amount: float


@dataclass(frozen=True)
class Bill:
    """The monthly cost, now and at the end of the declared growth.

    :param then: the total at the end of the declared growth
    :param dated: the date of the price table
    :param source: the source of its prices
    """

    lines: tuple[BillLine, ...]
    total: float
    then: float
    currency: str
    dated: date
    source: str

    @property
    def by_subject(self) -> Mapping[str, float]:
        """The amount of each access pattern and set."""
        amounts: dict[str, float] = {}
        for line in self.lines:
            amounts[line.subject] = amounts.get(line.subject, 0.0) + line.amount
        return amounts


@dataclass(frozen=True)
class Consistency:
    """An access pattern that may not read the last write, or whose crash leaves a partial change, as simulated.

    :param sees: what a reader may see; of a write, what a crash leaves
    :param seconds: how long after a write readers may see it; None for a write
    :param seconds_after_crash: how long, if the writer crashes and workers run; None if no worker repairs it
    :param without_worker: until when, if the writer crashes and no worker runs; empty if a crash has no effect
    """

    of: DeclaredSet = field(metadata={"json": "set"})
    access: Query | Write = field(metadata={"json": "name"})
    sees: str
    seconds: float | None
    seconds_after_crash: float | None
    without_worker: str


@dataclass(frozen=True)
class Effect:
    """The figures of an access pattern, a set or a design that a change can improve.

    :param per: `call` for the figures of one access pattern, `second` for those of a set or the whole design
    :param requests: the number of round trips
    :param examined: the number of entities that the service reads
    :param cost_a_month: the cost of the access pattern, the set or the whole design per month
    :param busiest: the load of the busiest partition of the table or the whole design, as a share of its target
    """

    per: Literal["call", "second"]
    requests: float
    examined: float
    cost_a_month: float
    busiest: float


About = Literal["account", "table", "set", "index", "list", "summary", "copies", "query", "write", "reader"]


@dataclass(frozen=True)
class Finding:
    """A problem of a design, and what to do about it.

    :param rule: the name of the rule, such as `table-scan`; names stay the same between versions
    :param subject: the part of the design with the problem, such as a set, its access pattern or a table
    :param about: the kind of the subject
    :param fields: the affected fields of the set; empty if the finding concerns the subject as a whole
    :param says: one sentence that states the problem, with its numbers
    :param why: the guide's reason
    :param better: what to do instead, in one or two sentences
    :param pattern: the pattern that fits better, by its name in the catalog; None if there is none
    :param guide: the section of the guide
    :param change: a tested change that resolves the finding; None if none was found
    :param before: the figures without the change
    :param after: the figures with the change
    :param resolves: the other findings that the change resolves
    :param causes: the findings that the change causes; none is serious, unless the entities have the same problem
    :param fix: the number of the change for `review --fix`; None if there is no change
    """

    rule: str
    severity: Severity
    subject: str
    says: str
    why: str
    better: str
    guide: str
    pattern: str | None = None
    change: str | None = None
    before: Effect | None = None
    after: Effect | None = None
    resolves: tuple[Finding, ...] = ()
    causes: tuple[Finding, ...] = ()
    fix: int | None = None
    about: About = "set"
    fields: tuple[str, ...] = ()


RowKind = Literal["primary", "copy", "list", "summary", "part"]


@dataclass(frozen=True)
class StoredRow:
    """A row of a table of the sample.

    :param number: the number that requests use to refer to the row
    :param partition: the PartitionKey
    :param key: the RowKey
    :param kind: `primary`; `copy`, `list` or `summary` for derived data; `part` for a further row of an entity
    :param derived: the name of the derived data; None for the entity itself
    :param template: the template of the key
    :param properties: the properties with their values, shortened
    :param stored: whether the row is stored from the start; if not, a write inserts it
    """

    number: int
    partition: str
    key: str
    kind: RowKind
    of: str = field(metadata={"json": "set"})
    derived: str | None
    template: str
    properties: str
    stored: bool


@dataclass(frozen=True)
class StoredTable:
    """A table of the sample, with its rows in key order."""

    name: str
    rows: tuple[StoredRow, ...]


@dataclass(frozen=True)
class Step:
    """One request of a call, as it was sent in the sample.

    :param request: the operation, with its keys or filter
    :param service: table, queue or blob
    :param query_class: the class of a query; None for any other request
    :param read: the numbers of the rows that the service read
    :param returned: the numbers of the rows in the response
    :param written: the numbers of the rows that were inserted, changed or deleted
    :param crash: what is stored if the process crashes right after the request; None if nothing has changed yet
    :param recovery: what is stored after a worker has processed the rest; None if there was no worker to run
    """

    request: str
    service: str
    query_class: str | None
    read: tuple[int, ...]
    returned: tuple[int, ...]
    written: tuple[int, ...]
    crash: str | None = None
    recovery: str | None = None


@dataclass(frozen=True)
class Walkthrough:
    """One call of an access pattern in the sample, request by request.

    :param rejected: why it was rejected; None if it was carried out
    """

    of: DeclaredSet = field(metadata={"json": "set"})
    access: Query | Write = field(metadata={"json": "name"})
    steps: tuple[Step, ...]
    rejected: str | None = None


@dataclass(frozen=True)
class Simulation:
    """A small stored sample of a design's entities, and each access pattern carried out on it.

    :param entities: the number of stored entities of each set, by its name
    """

    entities: Mapping[str, int]
    tables: tuple[StoredTable, ...]
    walkthroughs: tuple[Walkthrough, ...]


@dataclass(frozen=True)
class Reviewed:
    """The complete result of a review, with the worst findings first.

    :param consistency: where it is not the usual: readers see the last write, and a crash leaves all of it or nothing
    :param together: the figures of the design without and with all changes of the findings; empty without a change
    :param simulation: a stored sample of the design, on which each access pattern was carried out; None before that
    """

    IN_JSON: ClassVar[Mapping[str, str]] = {"severity": "severity"}

    design: Design
    measured: tuple[Measured, ...] = field(metadata={"json": "access_patterns"})
    heats: tuple[TableLoad, ...] = field(metadata={"json": "heat"})
    account: AccountLoad
    in_sight: tuple[LimitUse, ...] = field(metadata={"json": "limits"})
    bill: Bill
    consistency: tuple[Consistency, ...]
    findings: tuple[Finding, ...]
    together: tuple[Effect, ...] = ()
    simulation: Simulation | None = None

    @property
    def severity(self) -> Severity | None:
        """The severity of the worst finding; None if there is none."""
        return max((finding.severity for finding in self.findings), default=None)

    @property
    def busiest(self) -> float:
        """The peak load of the busiest partition, as a share of its target."""
        return max((1 / table_load.headroom for table_load in self.heats), default=0.0)
