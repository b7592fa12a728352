"""A constructed review: a design with an example of everything that a report can show."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from math import cos, pi

from tablepatterns import InterPartitionIndex, IntraPartitionIndex, Key
from tablepatterns.filters import QueryClass
from tablepatterns_review.capacity.price import with_costs
from tablepatterns_review.design.model import DeclaredSet, Design, Field, Query, Retention, Shape, Write
from tablepatterns_review.result import (
    AccountLoad,
    Bill,
    BillLine,
    Consistency,
    Effect,
    Finding,
    LimitUse,
    Measured,
    PartitionLoad,
    Reviewed,
    Severity,
    TableLoad,
)

STEP = 60.0
STEPS = 1_440
PARTITION_TARGET = 2_000.0
ACCOUNT_TARGET = 20_000.0
MONTH = 30.44 * 86_400

BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
BY_NAME = InterPartitionIndex(Key("lastname_{LastName}", "{Department}_{EmployeeId:06d}"))

EMPLOYEES = DeclaredSet(
    name="Employees",
    table="Employees",
    key=Key("{Department}", "empid_{EmployeeId:06d}"),
    shape=Shape(
        "Employee",
        20_000,
        {
            "Department": Field(distinct=12, skew=0.7, size=10),
            "EmployeeId": Field("int32"),
            "Email": Field(size=24),
            "LastName": Field(size=12, distinct=4_000, skew=0.8),
        },
        growth=5_000,
    ),
    derived=(BY_EMAIL, BY_NAME),
    queries=(
        Query("employee by number", {"Department": "=", "EmployeeId": "="}, rate=200, peak=480, skew=0.6),
        Query("employee by e-mail", {"Department": "=", "Email": "="}, rate=40, peak=90),
        Query("employees by last name", {"LastName": "="}, rate=3, peak=8, max_staleness=60),
        Query("employees by age", {"Department": "=", "Age": "range"}, rate=0.5, peak=2),
        Query("employees by office", {"Office": "="}, rate=0.02, peak=0.1),
    ),
    writes=(Write("hire", "insert", rate=0.01, peak=0.1), Write("move house", "update", ("Address",), rate=0.2)),
)
_LOGGED = {
    "Hour": Field(size=13, order="rising"),
    "At": Field("datetime", order="rising"),
    "Id": Field(size=12),
}
LOG = DeclaredSet(
    name="Requests",
    table="Log",
    key=Key("{Hour}", "{At:ticks}_{Id}"),
    shape=Shape("Request", 90_000_000, _LOGGED, growth=2e9),
    queries=(Query("requests of an hour", {"At": "range"}, take=1_000, rate=0.01),),
    writes=(Write("log a request", "insert", rate=2_600, peak=6_200, writers=40),),
    retention=Retention(90),
)
DESIGN = Design("Contoso HR and its log", (EMPLOYEES, LOG), years=3)


def day(average: float, peak: float, noon: float = 12.5) -> tuple[float, ...]:
    """Return the rates of a day: a raised cosine."""
    swing = peak - average
    return tuple(max(0.0, average + swing * cos((step * STEP / 3_600 - noon) * pi / 12)) for step in range(STEPS))


def measured() -> tuple[Measured, ...]:
    point, by_range, scan, table = QueryClass.POINT, QueryClass.RANGE, QueryClass.PARTITION_SCAN, QueryClass.TABLE_SCAN
    asked = EMPLOYEES.queries
    made = Measured(
        EMPLOYEES,
        asked[0],
        "get(Department=..., EmployeeId=...)",
        None,
        point,
        1,
        1,
        1,
        1,
        0,
        420,
        980,
        1,
        False,
        3_000,
    )
    by_name = replace(
        made, access=asked[2], how="range(<lastname_{LastName}>, LastName=...)", via=BY_NAME.name, query_class=by_range
    )
    hire = replace(made, access=EMPLOYEES.writes[0], how="insert(...)", query_class=None, examined=0, returned=0)
    logs = replace(made, of=LOG)
    return (
        made,
        replace(made, access=asked[1], how="find(<email_{Email}>, Department=..., Email=...)", via=BY_EMAIL.name),
        replace(by_name, requests=1, examined=5, returned=5, bytes_out=3_900, follows=True),
        replace(made, access=asked[3], how="query(PartitionKey eq ... and Age ge ...)", query_class=scan,
                requests=3.4, transactions=3.4, examined=3_357, returned=412, bytes_out=311_000),
        replace(made, access=asked[4], how="scan(Office eq ...)", query_class=table,
                requests=21, transactions=21, examined=20_000, returned=36, bytes_out=27_400, partitions=12),
        replace(hire, requests=4, transactions=6, written=4, bytes_in=3_100, partitions=2, follows=True),
        replace(hire, access=EMPLOYEES.writes[1], how="replace(...)", requests=4, transactions=6, written=3,
                bytes_in=2_900, partitions=2, follows=True),
        replace(logs, access=LOG.queries[0], how="range(At=between(...))", query_class=by_range, requests=1,
                transactions=1, examined=1_000, returned=1_000, bytes_out=410_000),
        replace(logs, access=LOG.writes[0], how="insert(...)", query_class=None, examined=0, returned=0, written=1),
    )  # fmt: skip


def hour_by_hour(rates: tuple[float, ...]) -> tuple[PartitionLoad, ...]:
    """Return the partitions of a log: each takes all that is written in its hour."""
    total = sum(rates)
    found: list[PartitionLoad] = []
    for hour in range(24):
        own = tuple(rate if step * STEP // 3_600 == hour else 0.0 for step, rate in enumerate(rates))
        found.append(PartitionLoad("Log", f"2014-08-22T{hour:02d}", own, sum(own) / total))
    return tuple(sorted(found, key=lambda each: -each.peak))


def heats() -> tuple[TableLoad, ...]:
    names = ("Sales", "Marketing", "Support", "Engineering", "Finance", "Legal", "Facilities", "lastname_Jones")
    shares = (0.31, 0.19, 0.13, 0.1, 0.08, 0.07, 0.05, 0.01)
    both = day(2_100, 9_700)
    staff = tuple(
        PartitionLoad("Employees", name, tuple(rate * part for rate in day(1_900, 3_600)), part)
        for name, part in zip(names, shares, strict=True)
    )
    log = hour_by_hour(day(2_600, 6_200))
    peak = log[0].peak
    cold = TableLoad("Log", STEP, log, 0, PARTITION_TARGET, PARTITION_TARGET / peak, 7 * 3_600.0, True, 8, peak / 8)
    warm = TableLoad(
        "Employees", STEP, staff, 4_005, PARTITION_TARGET, PARTITION_TARGET / staff[0].peak, None, False, 2, 558.0
    )
    assert max(both) < ACCOUNT_TARGET
    return (cold, warm)


def bill() -> Bill:
    lines = [
        BillLine(f"{each.of.name}: {each.access.name}", "transactions", each.transactions * each.access.rate * MONTH,
                 each.transactions * each.access.rate * MONTH / 10_000 * 0.00036)
        for each in measured()
    ]  # fmt: skip
    lines += [BillLine("Employees", "GB-months", 0.021, 0.021 * 0.045), BillLine("Requests", "GB-months", 41.0, 1.85)]
    total = sum(line.amount for line in lines)
    return Bill(tuple(lines), total, total * 3.2, "USD", date(2025, 3, 1), "Azure Table storage pricing")


def consistency() -> tuple[Consistency, ...]:
    later = "until a worker runs, or repair"
    return (
        Consistency(EMPLOYEES, EMPLOYEES.queries[2], "an old copy, or none", 0.04, 60.0, later),
        Consistency(EMPLOYEES, EMPLOYEES.writes[0], "1 of 2 rows has changed.", None, 60.0, later),
    )


def findings() -> tuple[Finding, ...]:
    return (
        Finding(
            "prepend-append", Severity.SERIOUS, "Log",
            "every insert of an hour goes to one partition, at 6,200 entities a second: 3.1 times its target of 2,000",
            "writes that go to the newest partition cannot be spread by the service",
            "put a bucket in front of the hour: 8 buckets keep each below half the target",
            "prepend/append anti-pattern", "partition_spread", "spread each partition over 8 buckets",
            Effect("second", 2_600, 0, 2.44, 3.1), Effect("second", 2_600, 0, 2.44, 0.39), fix=1,
        ),
        Finding(
            "partition-scan", Severity.WARNING, "Employees: employees by age",
            "reads 3,357 entities to return 412, 2 times a second at the peak",
            "only the keys are indexed: without a range of RowKeys the partition is searched",
            "keep copies ordered by age in the same partition", "intra-partition secondary index pattern",
            "intra_partition_index", "add the index 'by age' in the partition",
            Effect("call", 4, 3_357, 0.19, 0.56), Effect("call", 1, 412, 0.05, 0.56), fix=2,
        ),
        Finding(
            "high-volume-delete", Severity.WARNING, "Requests",
            "about 225 million entities a day are deleted one by one after 90 days",
            "each delete is a transaction", "drop the table of a day", "high volume delete pattern", "period_tables",
        ),
        Finding(
            "table-scan", Severity.NOTE, "Employees: employees by office",
            "reads all 20,000 entities, 1.2 times a minute",
            "without PartitionKey every partition is searched", "leave it, while it is rare", "designing for querying",
        ),
    )  # fmt: skip


def sample() -> Reviewed:
    """Return a review in which every part of a report has something to show."""
    return Reviewed(
        design=DESIGN,
        measured=with_costs(measured(), bill()),
        heats=heats(),
        account=AccountLoad(STEP, day(2_900, 7_100), ACCOUNT_TARGET),
        in_sight=(
            LimitUse("entities of a partition", "Log", 9_300_000, 22_320_000, 2e7, 2.4),
            LimitUse("bytes of an entity", "Employees", 612, 612, 2**20, None),
            LimitUse("bytes of a list", "Employees: LastName", 41_000, 102_000, 2**16, 1.2),
            LimitUse("properties of an entity", "Employees", 9, 9, 252, None),
        ),
        bill=bill(),
        consistency=consistency(),
        findings=findings(),
        together=(Effect("second", 4_716, 3_530, 11.2, 3.1), Effect("second", 4_709, 640, 11.06, 0.39)),
    )


def clean() -> Reviewed:
    """Return the review of a design that nothing is to be said against."""
    found = sample()
    design = Design("Contoso HR", (EMPLOYEES,))
    return replace(
        found,
        design=design,
        measured=found.measured[:2],
        heats=found.heats[1:],
        in_sight=(),
        consistency=(),
        findings=(),
        together=(),
    )


HOSTILE = "<script>alert('&\"x')</script> | `a`_*b*_ $x$ \x1b[31m\u202e {Key} ]]>"


def hostile(text: str = HOSTILE) -> Reviewed:
    """Return a review whose every text is this one, by default one that breaks a careless writer."""
    found = sample()
    access = replace(EMPLOYEES.queries[0], name=text)
    of = replace(EMPLOYEES, name=text)
    heat = found.heats[1]
    parts = tuple(replace(each, partition=text) for each in heat.partitions)
    finding = replace(
        found.findings[0], subject=text, says=text, why=text, better=text, guide=text, pattern=text, rule=text
    )
    return replace(
        found,
        design=Design(text, (of,)),
        measured=(replace(found.measured[3], of=of, access=access, how=text, via=text),),
        heats=(replace(heat, table=text, partitions=parts),),
        in_sight=(LimitUse(text, text, 1, 2, 3, None),),
        consistency=(Consistency(of, access, text, 1.0, 60.0, text),),
        findings=(finding,),
        bill=replace(found.bill, lines=(BillLine(text, text, 1, 1.0),), source=text, currency=text),
    )
