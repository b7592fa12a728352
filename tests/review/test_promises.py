"""Consistency: what readers see, and the state after a crash, as the recipes guarantee it."""

from __future__ import annotations

import inspect

import pytest

from support.declared_staff import EMPLOYEE, declared, design, measured
from tablepatterns import (
    CopiedFields,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    Summary,
)
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InTable
from tablepatterns.filters import QueryClass
from tablepatterns_review.consistency import LEASE, promises
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write
from tablepatterns_review.model import Consistency, Measured

HIRE = Write("hire", "insert", rate=1)
BY_ID = Query("by id", {"Department": "=", "EmployeeId": "="}, rate=1)
BY_EMAIL = Query("by e-mail", {"Department": "=", "Email": "="}, rate=1)
EVENTUAL_INDEX = InterPartitionIndex(Key("email_{Department}", "{Email}"), name="by e-mail")


def promise(of: DeclaredSet, access: Query | Write, **other: object) -> Consistency:
    found: Measured = measured(of, access, **other)
    (only,) = promises(design(of), [found])
    return only


def test_primary_rows_give_the_last_write_and_a_crash_leaves_nothing_half_done() -> None:
    found = promise(declared(), BY_ID)
    assert (found.reads, found.crash, found.repaired_by) == (
        "the last write",
        "no partial change",
        "no repair needed",
    )


@pytest.mark.parametrize(
    ("via", "says"),
    [
        (IntraPartitionIndex(Key("{Department}", "email_{Email}")), "always exact copies"),
        (IndexEntity("LastName"), "always exact lists"),
        (Summary(Key("{Department}", "department")), "always exact totals"),
    ],
)
def test_derived_data_in_the_partition_is_always_consistent(via: Derived, says: str) -> None:
    found = promise(declared(derived=(via,)), BY_EMAIL, via=via.name)
    assert found.reads.startswith(says)
    assert "in the transaction of the" in found.reads
    assert found.crash == "no partial change"


@pytest.mark.parametrize(
    ("via", "says"),
    [
        (EVENTUAL_INDEX, "until then an old copy, or none"),
        (IndexEntity("LastName", store=InTable("ByName")), "never an entity without the value"),
        (Summary(Key("totals", "all"), store=InTable("Totals")), "eventually consistent totals"),
    ],
)
def test_derived_data_outside_the_partition_is_completed_by_a_worker_after_a_crash(via: Derived, says: str) -> None:
    found = promise(declared(derived=(via,)), BY_EMAIL, via=via.name)
    assert says in found.reads
    assert f"after {LEASE} s" in found.reads
    assert "a message in the intents queue" in found.crash
    assert "a worker" in found.repaired_by
    assert "repair" in found.repaired_by


def test_the_lease_assumed_for_a_file_is_the_default_of_a_set() -> None:
    assert inspect.signature(EntitySet.__init__).parameters["lease"].default == LEASE


def test_a_unique_key_may_stay_reserved() -> None:
    unique = InterPartitionIndex(Key("email_{Department}", "{Email}"), unique=True)
    for each, is_unique in ((unique, True), (EVENTUAL_INDEX, False)):
        assert ("reserved" in promise(declared(derived=(each,)), HIRE).crash) is is_unique


def test_a_write_says_what_changes_with_it_and_what_follows() -> None:
    local = IntraPartitionIndex(Key("{Department}", "name_{LastName}_{EmployeeId:06d}"), name="by name")
    found = promise(declared(derived=(local, EVENTUAL_INDEX)), HIRE)
    assert found.reads.startswith(
        "the change immediately, with by name: one transaction; by e-mail: eventually consistent"
    )
    assert "rows of by e-mail" in found.crash


def test_a_write_within_one_partition_leaves_nothing_after_a_crash() -> None:
    index = InterPartitionIndex(Key("email_{Department}", "{Email}"), include=["LastName"])
    found = promise(declared(derived=(index,)), Write("birthday", "update", ("Age",), rate=1))
    assert (found.reads, found.crash) == ("the change immediately", "no partial change")


def test_copies_of_other_entities_are_reported_for_the_queries_that_read_them() -> None:
    head = Key("{Department}", "department")
    for store, says in ((None, "are always exact"), (InTable("Departments"), "eventually consistent: usually updated")):
        manager = CopiedFields(head, refers={"EmployeeId": "ManagerId"}, copies={"Email": "ManagerEmail"}, store=store)
        staff = declared(derived=(manager,))
        table = "Departments" if store else "Employees"
        departments = declared(head, {"Department": Field(distinct=4)}, name="Departments", table=table)
        query = Query("department", {"Department": "="}, rate=1)
        (found,) = promises(design(staff, departments), [measured(departments, query)])
        assert found.reads.startswith("the last write; ManagerEmail, copied from other entities,")
        assert says in found.reads


def test_a_blob_may_be_left_and_never_an_address_without_one() -> None:
    photos = LargeProperties(["Photo"], container="photos")
    staff = declared(fields=EMPLOYEE | {"Photo": Field("binary", size=5000)}, mappings=(photos,))
    assert promise(staff, HIRE).repaired_by == "collect_orphans"
    assert "large values" in promise(staff, BY_ID).reads
    assert "large values" not in promise(staff, Query("name", {}, select=("LastName",), rate=1)).reads
    assert promise(staff, Write("fire", "delete", rate=1)).crash == "no partial change"


def test_a_result_of_several_requests_is_not_a_snapshot() -> None:
    query = Query("all", rate=1)
    found = promise(declared(), query, query_class=QueryClass.TABLE_SCAN, requests=20.0)
    assert found.reads == "the last write; read in several requests, not as a snapshot"


def test_an_entity_that_gets_another_key_is_seen_in_both_places() -> None:
    found = promise(declared(), Write("to another department", "update", ("Department",), rate=1))
    assert "in at least one place" in found.reads


@pytest.mark.parametrize(
    ("partition", "table", "says"),
    [
        ("{Department}", "Employees", "one entity group transaction"),
        ("{Department}", "Heads", "not isolated from"),
        ("heads", "Employees", "not isolated from"),
    ],
)
def test_writes_that_belong_together_are_one_transaction_only_in_one_partition(
    partition: str, table: str, says: str
) -> None:
    count = Write("count", "update", ("Count",), rate=1)
    staff = declared(writes=(Write("hire", "insert", rate=1, atomic_with=("count",)),))
    fields = {"Department": Field(distinct=4), "Count": Field("int32")}
    heads = declared(Key(partition, "head"), fields, name="Heads", table=table, writes=(count,))
    (found,) = promises(design(staff, heads), [measured(staff, staff.writes[0])])
    assert says in found.reads
    assert ("a message for the others" in found.crash) is (says == "not isolated from")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("wide_entity", "the last write as a whole, or the one before"),
        ("data_series", "the last write of each point, None if it was never set"),
        ("period_tables", "the last write, in the periods that are retained"),
        ("partition_spread", "the last write, in every bucket"),
        ("log_tail", "the last write"),
    ],
)
def test_each_pattern_promises_what_it_guarantees(pattern: str, says: str) -> None:
    assert promise(declared(pattern=pattern), BY_ID).reads == says


def test_there_is_one_promise_for_each_access_pattern_in_their_order() -> None:
    staff = declared()
    found = promises(design(staff), [measured(staff, BY_ID), measured(staff, HIRE)])
    assert [each.access for each in found] == [BY_ID, HIRE]
