"""The employees of the guide, designed as for a relational database: the same design as employees_naive.toml."""

from __future__ import annotations

from tablepatterns import EntitySet, Key, connect
from tablepatterns_review import Design, Field, Query, Retention, Shape, Write, declare_set

storage = connect()
SHOWN = ("FirstName", "LastName", "Age", "Email")
EMPLOYEE_ID = Field("int32", distinct=20_000)

employees = declare_set(
    EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId:06d}")),
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
            "Photo": Field("binary", size=60_000, largest=400_000),
        },
        growth=2_000,
    ),
    queries=[
        Query("employee by number", {"Department": "=", "EmployeeId": "="}, select=SHOWN, rate=30, peak=80),
        Query("employee by e-mail", {"Department": "=", "Email": "="}, select=SHOWN, rate=10, peak=30),
        Query("employees by last name", {"Department": "=", "LastName": "="}, select=SHOWN, rate=1, peak=3),
        Query(
            "two employees of Sales",
            filter="PartitionKey eq 'Sales' and (RowKey eq '000121' or RowKey eq '000322')",
            rate=0.5,
            peak=2,
        ),
        Query("photograph of an employee", {"Department": "=", "EmployeeId": "="}, select=("Photo",), rate=0.5, peak=2),
    ],
    writes=[
        Write("hire", "insert", rate=0.0002, peak=0.01, atomic_with=("count",)),
        Write("change", "update", ("LastName", "Age"), rate=0.001, peak=0.02, writers=4),
    ],
)

# A department in a table of its own: no transaction changes it with its employees.
departments = declare_set(
    EntitySet(storage, "Departments", Key("{Department}", "department")),
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
    writes=[Write("count", "update", ("EmployeeCount",), rate=0.0002)],
)

# The newest claims of an employee are the last of the partition.
claims = declare_set(
    EntitySet(storage, "ExpenseClaims", Key("{EmployeeId:06d}", "{ClaimedAt:ticks}_{ClaimId:uuid}")),
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

# Each sign-in is found and deleted after sixty days.
sign_ins = declare_set(
    EntitySet(storage, "SignIns", Key("{EmployeeId:06d}", "{At:ticks}_{SignInId:uuid}")),
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
    retention=Retention(60, "entity"),
)

# The messages of each hour are an entity, and a chart needs the twenty-four of a day.
messages = declare_set(
    EntitySet(storage, "MessageCounts", Key("{EmployeeId:06d}", "{Day:%Y-%m-%d}_{Hour:02d}")),
    name="Messages",
    shape=Shape(
        "MessageCount",
        14_400_000,
        {
            "EmployeeId": EMPLOYEE_ID,
            "Day": Field("datetime", order="rising", distinct=30),
            "Hour": Field("int32", distinct=24),
            "Sent": Field("int32", distinct=200),
        },
    ),
    queries=[Query("chart of a day", {"EmployeeId": "=", "Day": "="}, rate=3, peak=12)],
    writes=[Write("count messages", "update", ("Sent",), rate=5, peak=20, writers=2)],
)

design = Design("Employees, naive", (employees, departments, claims, sign_ins, messages), years=3)
