"""Declared staff: sets and designs for a review, and constructed measurements of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tablepatterns import Key, QueryClass
from tablepatterns_review.design.model import DeclaredSet, Design, Field, Query, Shape, Write
from tablepatterns_review.result import Measured

EMPLOYEE: Final = {
    "Department": Field(distinct=4, size=8),
    "EmployeeId": Field("int32", within="Department"),
    "LastName": Field(size=10, distinct=500),
    "Email": Field(size=20),
    "Age": Field("int32"),
}
EMPLOYEES: Final = Key("{Department}", "empid_{EmployeeId:06d}")
ENTRY: Final = {
    "Hour": Field("datetime", order="rising"),
    "At": Field("datetime", order="rising"),
    "Source": Field(distinct=1000),
    "EntryId": Field("int32"),
}


def declared(key: Key = EMPLOYEES, fields: Mapping[str, Field] = EMPLOYEE, **other: Any) -> DeclaredSet:
    """Return a set, by default of 20,000 employees in 4 departments of one size."""
    shape = Shape("Employee", other.pop("count", 20_000), dict(fields), other.pop("growth", 0.0))
    return DeclaredSet(**{"name": "Employees", "table": "Employees", "key": key, "shape": shape} | other)


def log(key: Key, **other: Any) -> DeclaredSet:
    """Return a set of log entries."""
    return declared(key, ENTRY, **{"name": "Log", "table": "Log", "count": 1_000_000} | other)


def measured(of: DeclaredSet, access: Query | Write, **other: Any) -> Measured:
    """Return the figures of an access pattern: by default one entity in one transaction."""
    is_query = isinstance(access, Query)
    found: dict[str, Any] = {
        "how": "get(...)" if is_query else "insert(...)",
        "via": None,
        "query_class": QueryClass.POINT if is_query else None,
        "requests": 1.0,
        "transactions": 1.0,
        "examined": float(is_query),
        "returned": float(is_query),
        "written": float(not is_query),
        "bytes_in": 100.0,
        "bytes_out": 200.0,
        "partitions": 1.0,
        "follows": False,
        "sample": 1000,
    }
    return Measured(of, access, **found | other)


def design(*sets: DeclaredSet, years: float = 3.0) -> Design:
    """Return a design of these sets."""
    return Design("Staff", sets, years)
