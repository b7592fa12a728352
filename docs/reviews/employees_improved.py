"""The employees of the guide, designed for what is asked: the same design as employees_improved.toml."""

from __future__ import annotations

from datetime import timedelta

from tablepatterns import (
    DataSeries,
    EntitySet,
    IndexEntity,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LogTail,
    Period,
    PeriodTables,
    Summary,
    connect,
)
from tablepatterns_review import Design, Field, Query, Shape, Write, declare_set

storage = connect()
SHOWN = ("FirstName", "LastName", "Age", "Email")
EMPLOYEE_ID = Field("int32", distinct=20_000)
SIGN_IN = Key("{EmployeeId:06d}", "{At:ticks}_{SignInId:uuid}")

# Employees and their department share a partition, so that one transaction changes both; every row has a prefix.
employees = declare_set(
    EntitySet(
        storage,
        "Staff",
        Key("{Department}", "empid_{EmployeeId:06d}"),
        derived=[
            IntraPartitionIndex(Key("{Department}", "email_{Email}"), name="by e-mail"),
            IndexEntity("LastName", name="by last name"),
            Summary(Key("{Department}", "department"), count="EmployeeCount", name="employees of a department"),
        ],
    ),
    name="Employees",
    shape=Shape(
        "Employee",
        20_000,
        {
            "Department": Field(distinct=40, skew=0.5, size=10),
            "EmployeeId": Field("int32"),
            "FirstName": Field(distinct=2_000, size=7),
            "LastName": Field(distinct=4_000, skew=0.6, size=8),
            "Age": Field("int32", distinct=50),
            "Email": Field(size=24),
        },
        growth=2_000,
    ),
    queries=[
        Query("employee by number", {"Department": "=", "EmployeeId": "="}, select=SHOWN, rate=31, peak=84),
        Query("employee by e-mail", {"Department": "=", "Email": "="}, select=SHOWN, rate=10, peak=30),
        Query("employees by last name", {"Department": "=", "LastName": "="}, select=SHOWN, rate=1, peak=3),
    ],
    writes=[
        Write("hire", "insert", rate=0.0002, peak=0.01, atomic_with=("store photograph",)),
        Write("change", "update", ("LastName", "Age"), rate=0.001, peak=0.02, writers=4),
    ],
)

# A photograph is a blob, and its address a row beside the employee's: whoever reads the employee reads no blob.
photographs = declare_set(
    EntitySet(
        storage,
        "Staff",
        Key("{Department}", "photo_{EmployeeId:06d}"),
        mappings=[LargeProperties(["Photo"], container="photos")],
    ),
    name="Photographs",
    shape=Shape(
        "Photograph",
        20_000,
        {
            "Department": Field(distinct=40, skew=0.5, size=10),
            "EmployeeId": Field("int32"),
            "Photo": Field("binary", size=60_000, largest=400_000),
        },
        growth=2_000,
    ),
    queries=[Query("photograph of an employee", {"Department": "=", "EmployeeId": "="}, rate=0.5, peak=2)],
    writes=[Write("store photograph", "insert", rate=0.0002)],
)

departments = declare_set(
    EntitySet(storage, "Staff", Key("{Department}", "department")),
    name="Departments",
    shape=Shape(
        "Department",
        40,
        {
            "Department": Field(size=10),
            "DepartmentName": Field(size=20),
            "EmployeeCount": Field("int32", distinct=1_000),
        },
        growth=2,
    ),
    queries=[Query("department by name", {"Department": "="}, rate=5, peak=10)],
)

# The newest claims are the first of the partition.
claims = declare_set(
    LogTail(storage, "ExpenseClaims", "{EmployeeId:06d}", at="ClaimedAt", entry="ClaimId"),
    name="Claims",
    shape=Shape(
        "Claim",
        4_000_000,
        {
            "EmployeeId": EMPLOYEE_ID,
            "ClaimedAt": Field("datetime", order="rising"),
            "ClaimId": Field("guid"),
            "Amount": Field("double"),
        },
        growth=1_000_000,
    ),
    queries=[Query("latest ten claims", {"EmployeeId": "="}, order="-ClaimedAt", take=10, rate=2, peak=8)],
    writes=[Write("claim", "insert", rate=0.032, peak=0.2, writers=4)],
)

# A table for each day, which is dropped after sixty.
sign_ins = declare_set(
    PeriodTables(
        storage,
        "SignIns",
        Period.DAY,
        factory=lambda account, table: EntitySet(account, table, SIGN_IN),
        retention=timedelta(days=60),
    ),
    shape=Shape(
        "SignIn",
        6_000_000,
        {
            "EmployeeId": EMPLOYEE_ID,
            "At": Field("datetime", order="rising"),
            "SignInId": Field("guid"),
            "Address": Field(distinct=60_000, size=12),
        },
    ),
    queries=[Query("sign-ins of a span", {"EmployeeId": "=", "At": "range"}, results=5, rate=0.1)],
    writes=[Write("sign in", "insert", rate=1.16, peak=20, writers=6)],
)

# The hours of a day are properties of one entity.
messages = declare_set(
    DataSeries(storage, "MessageCounts", Key("{EmployeeId:06d}", "{Day:%Y-%m-%d}"), 24, prefix="Hour", value_type=int),
    name="Messages",
    shape=Shape(
        "MessageCount",
        600_000,
        {"EmployeeId": EMPLOYEE_ID, "Day": Field("datetime", order="rising", distinct=30)},
    ),
    queries=[Query("chart of a day", {"EmployeeId": "=", "Day": "="}, rate=3, peak=12)],
    writes=[Write("count messages", "update", rate=5, peak=20, writers=2)],
)

design = Design("Employees, improved", (employees, photographs, departments, claims, sign_ins, messages), years=3)
