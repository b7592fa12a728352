"""Growth: which limits are reached, and when: examples and properties."""

from __future__ import annotations

import math

import pytest
from azure.data.tables import EntityProperty
from hypothesis import given
from hypothesis import strategies as st

from support.declared_staff import EMPLOYEE, declared, design, log, measured
from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    IndexEntity,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    Summary,
    connect,
)
from tablepatterns.edm import Int64, entity_size
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.filters import QueryClass
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns_review.capacity.growth import in_sight, volume_of
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write
from tablepatterns_review.plans.sizes import derived_sizes, entry_size, list_size, primary_sizes
from tablepatterns_review.result import LimitUse

HIRE = Write("hire", "insert", rate=1)


def limits(of: DeclaredSet, years: float = 3.0) -> dict[str, LimitUse]:
    found = [measured(of, access) for access in (*of.queries, *of.writes)]
    return {each.limit: each for each in in_sight(design(of, years=years), found)}


def stored_size(of: DeclaredSet, fields: dict[str, object], row_prefix: str) -> int:
    """Return what an entity takes, as it is stored on an account in memory, by the published sum."""
    storage = connect()
    entities = EntitySet(storage, of.table, of.key, derived=of.derived, mappings=of.mappings)
    entities.insert(fields)
    rows = list(storage.tables.get_table_client(of.table).list_entities())
    (row,) = [each for each in rows if each["RowKey"].startswith(row_prefix)]
    plain = {name: Int64(value.value) if isinstance(value, EntityProperty) else value for name, value in row.items()}
    keys = plain.pop("PartitionKey"), plain.pop("RowKey")
    return entity_size(*keys, plain)


# -- Sizes


JONES = {"Department": "d" * 8, "EmployeeId": 1, "LastName": "n" * 10, "Email": "e" * 20, "Age": 34}


def test_an_entity_takes_what_it_takes_when_it_is_stored() -> None:
    staff = declared()
    # 4, keys 2 * (8 + 12), LastName 8 + 16 + 4 + 20, Email 8 + 10 + 4 + 40, Age 8 + 6 + 4, WriteId 8 + 14 + 4 + 16
    assert primary_sizes(staff).row == 4 + 40 + 48 + 62 + 18 + 42
    assert primary_sizes(staff).row == stored_size(staff, JONES, "empid_")


def test_a_copy_takes_what_it_takes_when_it_is_stored() -> None:
    for include in (None, ["Age"]):
        by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"), include=include)
        staff = declared(derived=(by_email,))
        sizes = derived_sizes(staff, by_email)
        assert sizes is not None
        assert sizes.row == stored_size(staff, JONES, "email_")


def test_every_type_takes_what_it_takes_when_it_is_stored() -> None:
    fields = {
        "Department": Field(distinct=4, size=8),
        "EmployeeId": Field("int32"),
        "Long": Field("int64"),
        "Half": Field("double"),
        "Is": Field("boolean"),
        "Photo": Field("binary", size=50),
    }
    staff = declared(fields=fields)
    values = {"Long": Int64(5), "Half": 0.5, "Is": True, "Photo": b"p" * 50, "Department": "d" * 8, "EmployeeId": 1}
    assert primary_sizes(staff).row == stored_size(staff, values, "empid_")


def test_what_is_encrypted_takes_about_what_it_takes_when_it_is_stored() -> None:
    sealed = EncryptedProperties(["Email", "Age"], keys=LocalKey.generate("payroll-2026"))
    staff = declared(mappings=(sealed,))
    assert primary_sizes(staff).row == pytest.approx(stored_size(staff, JONES, "empid_"), rel=0.02)


def test_a_large_value_is_in_a_blob_and_its_address_in_the_entity() -> None:
    photos = LargeProperties(["Photo"], container="photos", above=1000)
    staff = declared(fields=EMPLOYEE | {"Photo": Field("binary", size=5000)}, mappings=(photos,))
    sizes = primary_sizes(staff)
    assert (sizes.blobs, sizes.in_blobs) == (5000.0, {"Photo"})
    assert sizes.row == pytest.approx(stored_size(staff, {**JONES, "Photo": b"p" * 5000}, "empid_"), rel=0.2)


@pytest.mark.parametrize("store", [None, InTable("Names")])
def test_a_list_takes_what_it_takes_when_it_is_stored(store: InTable | None) -> None:
    by_name = IndexEntity("LastName", store=store)
    staff = declared(derived=(by_name,))
    storage = connect()
    entities = EntitySet(storage, "Employees", staff.key, derived=[by_name])
    for number in range(50):
        entities.insert(JONES | {"EmployeeId": number})
    rows = storage.tables.get_table_client(store.name if store and store.name else "Employees").list_entities()
    (row,) = [each for each in rows if "Ids" in each]
    listed = entity_size(row["PartitionKey"], row["RowKey"], {"Ids": row["Ids"]})
    # Behind the last entry stands nothing; the id of the write is not among what was read
    assert 50 * entry_size(staff, by_name) + list_size(staff, by_name) == pytest.approx(listed + 2 + 42, abs=8)


def test_the_volume_is_that_of_all_rows() -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    by_name = IndexEntity("LastName")
    staff = declared(derived=(by_email, by_name), growth=10_000)
    copies = derived_sizes(staff, by_email)
    assert copies is not None
    row = primary_sizes(staff).row + copies.row
    for years, count in ((0, 20_000), (1, 30_000)):
        # Each name is listed in each of the 4 departments, with a RowKey of 12 characters and what parts it from others
        lists = volume_of(staff, years).tables - count * row
        assert lists > count * 2 * 13
        assert lists == pytest.approx(count * 2 * 13 + 4 * 500 * 130, rel=0.2)


# -- Limits


def test_a_design_far_from_all_limits_hears_of_none() -> None:
    assert limits(declared(writes=(HIRE,), queries=(Query("by id", {"Department": "="}, rate=1),))) == {}


def test_a_property_and_an_entity_that_are_too_large_are_so_from_the_first_day() -> None:
    staff = declared(fields=EMPLOYEE | {"Photo": Field("binary", size=2_000_000)})
    found = limits(staff)
    assert (found["bytes of a property"].now, found["bytes of a property"].most) == (2_000_000, 65_536)
    assert found["bytes of a property"].reached == 0.0
    assert found["bytes of an entity"].reached == 0.0


def test_the_largest_value_counts_and_not_the_usual_one() -> None:
    staff = declared(fields=EMPLOYEE | {"Notes": Field(size=100, largest=30_000)})
    assert limits(staff)["bytes of a property"].now == 60_000


def test_properties_are_counted_with_those_that_the_library_adds() -> None:
    fields = EMPLOYEE | {f"Day{day:03d}": Field("int32") for day in range(248)}
    found = limits(declared(fields=fields))["properties of an entity"]
    # 250 of them are no fields of the key, and 1 holds the id of the last write
    assert (found.now, found.most) == (252, 252)


def test_points_of_a_series_are_properties() -> None:
    series = declared(
        Key("{Employee}", "{Day:%Y-%m-%d}"),
        {"Employee": Field(distinct=100), "Day": Field("datetime", order="rising")},
        pattern="data_series",
        settings={"points": 144, "name": "Slot", "of": "int"},
    )
    assert limits(series)["properties of an entity"].now == 145


def test_a_series_that_is_split_takes_a_row_for_each_251_points() -> None:
    volumes = [
        volume_of(
            declared(
                Key("{Employee}", "{Day:%Y-%m-%d}"),
                {"Employee": Field(distinct=100), "Day": Field("datetime", order="rising")},
                pattern="data_series",
                settings={"points": points, "name": "Slot", "of": "int", "split": points > 251},
            ),
            0.0,
        ).tables
        for points in (251, 1000)
    ]
    assert volumes[1] == pytest.approx(4 * volumes[0], rel=0.02)


def test_parts_of_a_wide_entity_hold_more() -> None:
    fields = EMPLOYEE | {f"Day{day:03d}": Field("int32") for day in range(365)}
    assert limits(declared(fields=fields))["properties of an entity"].reached == 0.0
    assert "properties of an entity" not in limits(declared(fields=fields, pattern="wide_entity"))


def test_a_long_key_is_in_sight() -> None:
    found = limits(declared(Key("{Path:escape}", "row"), {"Path": Field(size=50, largest=400)}))
    assert (found["characters of a PartitionKey"].now, found["characters of a PartitionKey"].most) == (400, 512)


def test_a_list_grows_until_its_row_is_full() -> None:
    by_name = IndexEntity("LastName", store=InTable("ByName"))
    fields = EMPLOYEE | {"LastName": Field(size=10, distinct=2)}
    staff = declared(fields=fields, derived=(by_name,), growth=10_000)
    found = limits(staff, years=5.0)["bytes of a list of entities"]
    # 44 bytes an entity (keys of 8 and 12 characters, and 2 between): 440,000 of 1,048,320 now, 220,000 more each year
    assert found.now == pytest.approx(440_000, rel=0.001)
    assert found.then == pytest.approx(440_000 + 5 * 220_000, rel=0.001)
    assert found.reached == pytest.approx((1_048_320 - 440_000) / 220_000, rel=0.001)


def test_a_list_that_is_spread_or_in_blobs_has_room() -> None:
    fields = EMPLOYEE | {"LastName": Field(size=10, distinct=2)}
    for by_name in (
        IndexEntity("LastName", store=InTable("ByName"), spread=16),
        IndexEntity("LastName", store=InBlobs("names")),
    ):
        assert "bytes of a list of entities" not in limits(declared(fields=fields, derived=(by_name,)))


def test_a_summary_in_another_table_lists_its_entities() -> None:
    totals = Summary(Key("totals", "{Department}"), store=InTable("Totals"), sums={"Age": "Ages"})
    assert limits(declared(derived=(totals,)))["bytes of a list of entities"].now > 5_000 * 44


def test_copies_in_the_partition_take_their_part_of_a_transaction() -> None:
    copies = [IntraPartitionIndex(Key("{Department}", f"by{number:02d}_{{Email}}")) for number in range(30)]
    elsewhere = InterPartitionIndex(Key("email_{Department}", "{Email}"))
    moving = Write("new address", "update", ("Email",), rate=1)
    for write, operations in ((HIRE, 31), (moving, 61)):
        staff = declared(derived=(*copies, elsewhere), writes=(write,))
        assert limits(staff)["operations of a transaction"].now == operations


def test_a_scan_outgrows_the_time_of_a_page() -> None:
    query = Query("by age", {"Department": "=", "Age": "="}, rate=1)
    staff = declared(growth=20_000, queries=(query,))
    found = in_sight(design(staff), [measured(staff, query, query_class=QueryClass.PARTITION_SCAN, examined=5_000.0)])
    (time,) = [each for each in found if each.limit == "entities that a partition serves in 5 s"]
    assert (time.now, time.then, time.most, time.reached) == (5_000.0, 20_000.0, 10_000.0, 1.0)


def test_a_partition_of_one_hour_stays_as_it_is_however_many_come_after_it() -> None:
    query = Query("an hour", {"Hour": "="}, rate=1)
    events = log(Key("{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EntryId:06d}"), growth=1e9, queries=(query,))
    found = in_sight(design(events), [measured(events, query, query_class=QueryClass.PARTITION_SCAN, examined=9_000.0)])
    (time,) = [each for each in found if each.limit.startswith("entities")]
    assert time.then == time.now == 9_000.0


def test_a_queue_takes_so_many_announcements_in_a_second() -> None:
    elsewhere = InterPartitionIndex(Key("email_{Department}", "{Email}"))
    for derived, rate in (((elsewhere,), 600.0), ((), None)):
        staff = declared(derived=derived, writes=(Write("hire", "insert", rate=100, peak=300),))
        found = limits(staff).get("messages of a queue in a second")
        assert (found and found.now) == rate


def test_the_account_has_room_for_so_much() -> None:
    found = limits(log(Key("{Source}", "{EntryId:010d}"), growth=2e12))["bytes of the account"]
    assert found.most == 500e12
    assert found.reached is not None
    assert 0 < found.reached < 3


@given(st.integers(0, 50_000), st.integers(0, 200_000), st.floats(0.5, 10), st.integers(1, 50))
def test_what_is_reached_is_reached_on_a_straight_line(count: int, growth: int, years: float, distinct: int) -> None:
    by_name = IndexEntity("LastName", store=InTable("ByName"))
    fields = EMPLOYEE | {"LastName": Field(size=10, distinct=distinct)}
    staff = declared(fields=fields, derived=(by_name,), count=count, growth=float(growth))
    for each in in_sight(design(staff, years=years), []):
        assert max(each.now, each.then) >= each.most / 4
        assert (each.reached is None) == (each.now < each.most and each.then < each.most)
        if each.reached:
            assert 0 < each.reached <= years
            reached = each.now + (each.then - each.now) * each.reached / years
            assert math.isclose(reached, each.most, rel_tol=1e-9)


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_who_grows_faster_uses_no_less(slow: float, more: float) -> None:
    by_name = IndexEntity("LastName", store=InTable("ByName"))
    then = [
        {each.limit: each.then for each in in_sight(design(declared(derived=(by_name,), growth=growth)), [])}
        for growth in (slow, slow + more)
    ]
    for limit, used in then[0].items():
        assert then[1][limit] >= used
