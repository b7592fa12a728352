"""A design whose detailed review has every kind of row, request and crash, and names that need escaping."""

from __future__ import annotations

from functools import cache

from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    connect,
)
from tablepatterns.recipes.summary import Summary
from tablepatterns_review import ArchivePolicy, Design, Field, Query, Reviewed, Shape, Write, declare_set, review

HOSTILE = "</script><script>alert('&\"x')</script>\u2028<!-- `a`"
"""A name that would end a script, begin one, or break a line of JavaScript."""


def design(name: str = "Staff", lookup: str = "employee by e-mail") -> Design:
    """Return the design.

    :param name: its name
    :param lookup: the name of an access pattern
    """
    storage = connect()
    employees = EntitySet(
        storage,
        "Employees",
        Key("{Department}", "empid_{EmployeeId:06d}"),
        derived=[
            IntraPartitionIndex(Key("{Department}", "email_{Email}"), name="by e-mail"),
            InterPartitionIndex(Key("phone_{Phone}", "phone_{Department}_{EmployeeId:06d}"), name="by phone"),
            IndexEntity("LastName", name="by last name"),
            Summary(Key("{Department}", "total"), count="EmployeeCount", name="employees of a department"),
        ],
        mappings=[LargeProperties(["Photo"], container="photos")],
    )
    fields = {
        "Department": Field(distinct=12, size=10),
        "EmployeeId": Field("int32"),
        "Email": Field(size=20),
        "Phone": Field(size=12),
        "LastName": Field(distinct=300, size=8),
        "Photo": Field("binary", size=250_000),
    }
    staff = declare_set(
        employees,
        shape=Shape("Employee", 2_000, fields, growth=500),
        queries=[
            Query(lookup, {"Department": "=", "Email": "="}, rate=10, peak=40),
            Query("employee by phone", {"Phone": "="}, rate=1),
            Query("employees by last name", {"Department": "=", "LastName": "="}, rate=5),
            Query("employees with a photo", {"Department": "=", "Photo": "="}, rate=0.1),
        ],
        writes=[
            Write("hire", "insert", rate=0.1, atomic_with=("log change",)),
            Write("new phone", "update", ("Phone",), rate=0.2, writers=3),
            Write("transfer", "update", ("Department",), rate=0.01),
            Write("leave", "delete", rate=0.05),
        ],
        archive=ArchivePolicy(container="former-employees", rate=0.02, peak=3),
    )
    by_day = Key("{Day:%Y-%m-%d}", "{ChangeId:uuid}")
    changes = {"Day": Field("datetime", order="rising"), "ChangeId": Field("guid")}
    log = declare_set(
        EntitySet(storage, "Changes", by_day),
        shape=Shape("Change", 50_000, changes),
        queries=[Query("changes of a day", {"Day": "="}, rate=0.01)],
        writes=[Write("log change", "insert", rate=0.2, peak=4)],
        archive=ArchivePolicy(to="OldChanges", after_days=90),
    )
    old = declare_set(EntitySet(storage, "OldChanges", by_day), shape=Shape("Change", 9_000, changes))
    return Design(name, (staff, log, old), years=2)


@cache
def reviewed() -> Reviewed:
    """Return its detailed review."""
    return review(design())
