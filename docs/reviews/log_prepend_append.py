"""The guide's access log with the current hour as the partition: the same design as log_prepend_append.toml."""

from __future__ import annotations

from datetime import timedelta

from tablepatterns import EntitySet, Key, Period, PeriodTables, connect
from tablepatterns_review import Design, Field, Query, Shape, Write, declare_set

storage = connect()
BY_HOUR = Key("{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EventId:uuid}")

accesses = declare_set(
    PeriodTables(
        storage,
        "AccessLog",
        Period.DAY,
        factory=lambda account, table: EntitySet(account, table, BY_HOUR),
        retention=timedelta(days=14),
    ),
    name="Accesses",
    shape=Shape(
        "Access",
        1_600_000_000,
        {
            "Hour": Field("datetime", order="rising", distinct=336),
            "At": Field("datetime", order="rising"),
            "EventId": Field("guid"),
            "Department": Field(distinct=40, size=10),
            "EmployeeId": Field("int32", distinct=20_000),
            "Level": Field(distinct=5, skew=2.0, size=8),
            "Resource": Field(distinct=9_000, size=40),
        },
    ),
    queries=[
        Query(
            "accesses from 15:04 to 15:06",
            {"Hour": "=", "At": "range"},
            results=158_400,
            rate=0.01,
            max_staleness=60,
        )
    ],
    writes=[Write("log", "insert", rate=1_320, peak=4_200, writers=60)],
)

design = Design("Access log by the hour", (accesses,), years=1)
