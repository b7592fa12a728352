"""Any design: every consistent design is measured, and its report is plausible."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import tablepatterns.aio
from support.examples import examples
from tablepatterns import (
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LogTail,
    PartitionSpread,
    Period,
    PeriodTables,
    connect,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.errors import BadDesign
from tablepatterns.recipe import Pattern
from tablepatterns_review import (
    ArchivePolicy,
    DeclaredSet,
    Design,
    Field,
    Query,
    Retention,
    Shape,
    Write,
    declare_set,
    read_design,
)
from tablepatterns_review.design.model import FieldType, WriteOperation
from tablepatterns_review.design.writes import is_of_archive, with_moves
from tablepatterns_review.design_file.checks import faults
from tablepatterns_review.measure.measure import measure

KEYS = [
    Key("{Group}", "n_{Number:09d}"),
    Key("{Number:09d}", "only"),
    Key("{Group}", "{At:inverted}_{Id:uuid}"),
    Key("all", "{At:ticks}_{Number:09d}"),
    Key("{Day:%Y-%m-%dT%H}", "{Id:uuid}"),
    Key("{Group:escape}{Text:escape}", "{Number:09d}"),
]
counts = st.sampled_from([0, 1, 2, 7, 60, 3_000, 10**6, 10**9])
rates = st.sampled_from([0.0, 0.1, 5.0, 1_000.0])


@st.composite
def fields(draw: st.DrawFn, kind: FieldType | None = None) -> Field:
    return Field(
        draw(st.sampled_from(get_args(FieldType))) if kind is None else kind,
        size=draw(st.sampled_from([0, 1, 16, 200, 70_000])),
        distinct=draw(st.sampled_from([None, 1, 5, 100, 10**5])),
        skew=draw(st.sampled_from([0.0, 0.5, 2.0])),
        order=draw(st.sampled_from(["none", "rising"])),
    )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    found = {
        "Group": draw(fields("string")),
        "Number": Field("int32", within=draw(st.sampled_from([None, "Group"]))),
        "At": Field("datetime", order="rising"),
        "Id": Field("guid"),
        "Text": draw(fields("string")),
        "Day": draw(fields("datetime")),
        "Any": draw(fields()),
        "Flag": draw(fields("boolean")),
    }
    return Shape("Thing", draw(counts), found, draw(st.sampled_from([0.0, 10.0, 1e10])))


@st.composite
def queries(draw: st.DrawFn, shape: Shape, name: str) -> Query:
    names = draw(st.lists(st.sampled_from(list(shape.fields)), max_size=4, unique=True))
    known: dict[str, Any] = {each: draw(st.sampled_from(["=", "=", "range"])) for each in names}
    if known.get("Text") == "range":
        known["Text"] = "prefix"
    return Query(
        name,
        known,
        order=draw(st.sampled_from([None, "At", "-At", "Text", "-Number"])),
        take=draw(st.sampled_from([None, 1, 10, 5_000])),
        select=draw(st.sampled_from([(), ("Any",)])),
        rate=draw(rates),
        skew=draw(st.sampled_from([0.0, 1.0])),
        results=draw(st.sampled_from([None, 3.0])) if {"range", "prefix"}.intersection(known.values()) else None,
    )


def derived_of(key: Key) -> list[Derived]:
    return [
        IntraPartitionIndex(Key(key.partition_template, "text_{Text}_{Id:uuid}"), include=["Any"]),
        InterPartitionIndex(Key("{Text}", "{Id:uuid}"), table="ByText"),
        IndexEntity("Text", store=InBlobs("lists")),
        IndexEntity("Group", key=Key("{Group}", "list"), store=InTable("Groups"), spread=2),
    ]


@st.composite
def keepers(draw: st.DrawFn) -> Pattern[Any]:
    storage, key = connect(), draw(st.sampled_from(KEYS))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "log", "spread", "periods"]))
    if kind == "log":
        return LogTail(storage, "Things", "{Group}", entry="Id")
    if kind == "spread":
        return PartitionSpread(storage, "Things", key, buckets=draw(st.sampled_from([1, 4])))
    if kind == "periods":
        period = draw(st.sampled_from(Period))
        return PeriodTables(storage, "Things", period, factory=lambda account, table: EntitySet(account, table, key))
    numbers = draw(st.sets(st.integers(0, 3), max_size=2))
    try:
        kept = derived_of(key)
        return EntitySet(storage, "Things", key, derived=[kept[number] for number in sorted(numbers)])
    except BadDesign:
        reject()


@st.composite
def designs(draw: st.DrawFn) -> Design:
    shape = draw(shapes())
    asked = [draw(queries(shape, f"query {number}")) for number in range(draw(st.integers(0, 3)))]
    operations: list[WriteOperation] = draw(st.lists(st.sampled_from(get_args(WriteOperation)), max_size=2))
    changes = draw(st.sampled_from([(), ("Any",), ("Text",)]))
    writes = [Write(f"write {number}", operation, changes) for number, operation in enumerate(operations)]
    kept = draw(st.sampled_from([None, Retention(1), Retention(60)]))
    entities, archive, others = draw(keepers()), None, tuple[DeclaredSet, ...]()
    source = entities
    if isinstance(source, EntitySet) and draw(st.booleans()):
        container = None
        if draw(st.booleans()):
            elsewhere = Key(f"old_{source.key.partition_template}", f"old_{source.key.row_template}")
            there = EntitySet(connect(), draw(st.sampled_from(["Things", "Old"])), elsewhere)
            others = (declare_set(there, shape=replace(shape, count=draw(counts)), name="Old", retention=kept),)
        else:
            container = "old-things"
        archive = ArchivePolicy(
            "Old" if others else None,
            container,
            draw(st.sampled_from([1.0, 900.0])),
            draw(st.sampled_from([None, 0.1, 5.0])),
            count=0 if others else draw(counts),
        )
        asked.append(Query("archived", dict.fromkeys(source.key.fields, "="), rate=1, archived=True))
    declared = declare_set(entities, shape=shape, queries=asked, writes=writes, retention=kept, archive=archive)
    return Design("Any", (declared, *others))


@settings(examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(designs())
def test_whatever_fits_together_is_tried(design: Design) -> None:
    assume(not list(faults(design)))
    declared = design.sets[0]
    found = measure(design, most=60)
    assert [each.access for each in found if not each.is_implied] == [*declared.queries, *declared.writes]
    moves = [each for each in found if is_of_archive(declared, each.access)]
    assert len(moves) == (declared.archive is not None)
    if moves and declared.shape.count and moves[0].rejected is None and not declared.derived:
        assert moves[0].requests >= 6
    assert all(each.shape.count + each.shape.net_growth >= -1e-6 for each in with_moves(design).sets)
    for each in found:
        figures = (each.transactions, each.examined, each.returned, each.written, each.bytes_out, each.partitions)
        assert all(0 <= figure < float("inf") for figure in figures)
        if isinstance(each.access, Query):
            assert each.requests >= 1
            assert each.query_class is not None
            assert each.examined >= each.returned - 1e-6
            assert each.written == 0
        assert each.sample <= 60


def test_another_process_measures_the_same() -> None:
    path = Path(__file__).parents[2] / "docs" / "reviews" / "employees_improved.toml"
    program = (
        "import sys; from tablepatterns_review import read_design; "
        "from tablepatterns_review.measure.measure import measure; "
        "print(hash('Sales'), [(each.how, each.transactions, each.examined, each.bytes_in, each.bytes_out) "
        "for each in measure(read_design(sys.argv[1]))])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, path],
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    hashed, _, figures = answer.partition(" ")
    assert int(hashed) != hash("Sales")
    here = [
        (each.how, each.transactions, each.examined, each.bytes_in, each.bytes_out)
        for each in measure(read_design(path))
    ]
    assert figures.strip() == str(here)


def test_a_set_of_an_async_account_is_declared_as_one_of_a_sync_account() -> None:
    shape = Shape("Thing", 10, {"Group": Field(distinct=2), "Number": Field("int32")})
    both = [
        declare_set(EntitySet(storage, "Things", KEYS[0]), shape=shape)
        for storage in (connect(), tablepatterns.aio.connect())
    ]
    assert both[0] == both[1]
