"""Consistency: where readers may not see the last write and what a crash leaves, as the simulation shows it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import pytest
from tools import reviews

from review.recall.recalled import each_design, reviewed
from support.declared_staff import EMPLOYEE, declared, design
from tablepatterns import (
    CopiedFields,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    Summary,
    connect,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns_review import DeclaredSet, Field, Query, Reviewed, Write, review
from tablepatterns_review.design.distribution import names_one
from tablepatterns_review.design.writes import moves_away, touched
from tablepatterns_review.result import Consistency
from tablepatterns_review.rules.usage import REPLICATED
from tablepatterns_review.simulation.consistency import consistency
from tablepatterns_review.simulation.simulate import LEASE, simulate

SHORTEST = "log_prepend_append"
"""The documented design whose review takes the least time."""
HIRE = Write("hire", "insert", rate=1)
BY_EMAIL = Query("by e-mail", {"Department": "=", "Email": "="}, rate=1)
BY_NAME = Query("by name", {"Department": "=", "LastName": "="}, rate=1)
EVENTUAL_INDEX = InterPartitionIndex(Key("email_{Department}", "email_{Email}"), name="by e-mail")
WORKER = (float(LEASE), "until a worker runs, or repair")


def entries(*sets: DeclaredSet) -> dict[str, Consistency]:
    return {entry.access.name: entry for entry in review(design(*sets)).consistency}


@pytest.mark.parametrize(
    "derived",
    [
        (),
        (IntraPartitionIndex(Key("{Department}", "email_{Email}")),),
        (IndexEntity("LastName"),),
        (Summary(Key("{Department}", "department")),),
    ],
)
def test_rows_of_one_transaction_are_not_mentioned(derived: tuple[Derived, ...]) -> None:
    assert entries(declared(derived=derived, queries=(BY_EMAIL, BY_NAME), writes=(HIRE,))) == {}


@pytest.mark.parametrize(
    ("via", "query", "sees"),
    [
        (EVENTUAL_INDEX, BY_EMAIL, "an old copy, or none"),
        (IndexEntity("LastName", store=InTable("ByName")), Query("by name", {"LastName": "="}, rate=1), "a list that"),
        (IndexEntity("LastName", store=InBlobs("lists")), Query("by name", {"LastName": "="}, rate=1), "a list that"),
    ],
)
def test_rows_outside_the_partition_are_updated_later_or_by_a_worker(via: Derived, query: Query, sees: str) -> None:
    found = entries(declared(derived=(via,), queries=(query,), writes=(HIRE,)))
    assert found[query.name].sees.startswith(sees)
    assert found[query.name].seconds is not None
    assert 0 < found[query.name].seconds < 1
    assert (found[query.name].seconds_after_crash, found[query.name].without_worker) == WORKER
    assert "message is in the queue" in found["hire"].sees
    assert (found["hire"].seconds, found["hire"].seconds_after_crash, found["hire"].without_worker) == (None, *WORKER)


def test_a_write_that_does_not_touch_an_index_leaves_its_readers_alone() -> None:
    index = InterPartitionIndex(Key("email_{Department}", "email_{Email}"), include=["LastName"], name="by e-mail")
    query = Query("by e-mail", {"Department": "=", "Email": "="}, select=("LastName",), rate=1, max_staleness=0)
    birthday = Write("birthday", "update", ("Age",), rate=1)
    staff = declared(derived=(index,), queries=(query,), writes=(birthday,))
    assert entries(staff) == {}
    assert "stale-read" not in {finding.rule for finding in review(design(staff)).findings}


def test_the_secondary_region_lags_by_minutes() -> None:
    query = Query("by id", {"Department": "=", "EmployeeId": "="}, rate=1, region="secondary")
    (entry,) = entries(declared(queries=(query,))).values()
    assert (entry.seconds, entry.seconds_after_crash, entry.without_worker) == (REPLICATED, None, "")


def test_an_entity_that_gets_another_key_is_in_two_places() -> None:
    move = Write("transfer", "update", ("Department",), rate=1)
    query = Query("department", {"Department": "="}, rate=1)
    found = entries(declared(queries=(query,), writes=(move,)))
    assert found["department"].sees == "an entity in its old and its new place, while 'transfer' moves it"


def test_a_blob_may_be_left_and_never_an_address_without_one() -> None:
    photos = LargeProperties(["Photo"], container="photos", above=100)
    staff = declared(fields=EMPLOYEE | {"Photo": Field("binary", size=5000)}, mappings=(photos,), writes=(HIRE,))
    (entry,) = entries(staff).values()
    assert entry.sees == "No row has changed. 1 blob is stored."
    assert (entry.seconds_after_crash, entry.without_worker) == (None, "until collect_orphans")


@pytest.mark.parametrize(
    ("partition", "table", "is_atomic"),
    [("{Department}", "Employees", True), ("{Department}", "Heads", False), ("heads", "Employees", False)],
)
def test_writes_that_belong_together_are_one_transaction_only_in_one_partition(
    partition: str, table: str, is_atomic: bool
) -> None:
    count = Write("count", "update", ("Count",), rate=1)
    staff = declared(writes=(Write("hire", "insert", rate=1, atomic_with=("count",)),))
    fields = {"Department": Field(distinct=4), "Count": Field("int32")}
    known = {"Department": "="} if "{" in partition else {}
    heads = declared(
        Key(partition, "head" if known else "head_{Department}"),
        fields,
        name="Heads",
        count=4,
        table=table,
        queries=(Query("head", {"Department": "="}, rate=1),),
        writes=(count,),
    )
    found = entries(staff, heads)
    assert ("hire" in found) is ("head" in found) is not is_atomic
    if not is_atomic:
        assert found["head"].sees == "an entity without its part of 'hire'"


def test_copies_in_another_partition_are_updated_later() -> None:
    head = Key("{Department}", "department")
    for store, names in ((None, set()), (InTable("Departments"), {"department", "new e-mail"})):
        manager = CopiedFields(head, refers={"EmployeeId": "ManagerId"}, copies={"Email": "ManagerEmail"}, store=store)
        table = "Departments" if store else "Employees"
        source = declared(derived=(manager,), writes=(Write("new e-mail", "update", ("Email",), rate=1),))
        fields = {"Department": Field(distinct=4), "ManagerId": Field("int32"), "ManagerEmail": Field(size=20)}
        query = Query("department", {"Department": "="}, rate=1)
        filled = manager.filled_from(EntitySet(connect(), "Employees", source.key, derived=[manager]))
        target = declared(head, fields, name="Departments", table=table, count=4, queries=(query,), derived=(filled,))
        assert set(entries(source, target)) == names


def test_the_lease_assumed_for_a_file_is_the_default_of_a_set() -> None:
    assert inspect.signature(EntitySet.__init__).parameters["lease"].default == LEASE


@each_design
@pytest.mark.few(8)
def test_the_table_contradicts_no_finding_and_no_declaration(design_path: Path) -> None:
    result, _ = reviewed(design_path)
    check_table(replace(result, consistency=consistency(result.measured, simulate(result.design))))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == SHORTEST else pytest.mark.nightly) for name in reviews.DESIGNS]
)
def test_the_table_of_a_documented_design_does_neither(name: str) -> None:
    check_table(reviews.reviewed(name))


def has_own_key(of: DeclaredSet, via: Derived) -> bool:
    """Whether each entity has its own index key; else another one may have it in a sample, and there is no copy."""
    layout = of.profile(via).layout
    names = of.key.fields if layout is None else layout.key.fields
    return set(of.key.fields) <= set(names) or names_one(of.shape, names)


def check_table(result: Reviewed) -> None:
    mentioned = {f"{entry.of.name}: {entry.access.name}" for entry in result.consistency}
    findings = [finding for first in result.findings for finding in (first, *first.resolves)]
    assert {finding.subject for finding in findings if finding.rule == "stale-read"} <= mentioned
    for call in result.measured:
        via = call.derived
        is_measured = isinstance(call.access, Query) and call.rejected is None
        if is_measured and via is not None and has_own_key(call.of, via):
            writes = [write for write in call.of.writes if via in touched(call.of, write)]
            is_late = any(via.is_eventual or moves_away(call.of, write) for write in writes)
            assert (f"{call.of.name}: {call.access.name}" in mentioned) is is_late, call.access.name
