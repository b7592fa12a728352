"""Hot partitions: the load of a day and what the service would throttle: examples, properties, and the engine."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.declared_staff import EMPLOYEE, EMPLOYEES, declared, design, log, measured
from tablepatterns import IndexEntity, InterPartitionIndex, IntraPartitionIndex, Key, Summary
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.filters import QueryClass
from tablepatterns_review.capacity.hot_partitions import (
    SHOWN,
    SHOWN_IN_TURN,
    account_load,
    seconds_until_over,
    table_loads,
)
from tablepatterns_review.capacity.partitions import STEP, STEPS, day_curve
from tablepatterns_review.design.distribution import Zipf
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write
from tablepatterns_review.result import Measured, TableLoad

HIRE = Write("hire", "insert", rate=10, peak=20)
BY_ID = Query("by id", {"Department": "=", "EmployeeId": "="}, rate=100, peak=200)
BY_HOUR = Key("{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EntryId:06d}")
NOON = STEPS // 2


def heat(of: DeclaredSet, *found: Measured) -> TableLoad:
    (only,) = table_loads(design(of), found)
    return only


def peaks(found: TableLoad) -> dict[str, float]:
    return {each.partition: round(each.peak, 6) for each in found.partitions}


def write_all(of: DeclaredSet, write: Write, **other: Any) -> TableLoad:
    return heat(of, measured(of, write, **other))


# -- By hand


def test_calls_for_entities_fall_on_partitions_as_the_entities_do() -> None:
    staff = declared()
    assert peaks(heat(staff, measured(staff, BY_ID))) == {f"Department {number}": 50.0 for number in (1, 2, 3, 4)}


def test_a_partition_of_more_entities_takes_more_of_their_calls() -> None:
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)})
    # 1 + 1/2 + 1/3 + 1/4 is 25/12
    assert peaks(heat(staff, measured(staff, BY_ID))) == {
        "Department 1": 96.0,
        "Department 2": 48.0,
        "Department 3": 32.0,
        "Department 4": 24.0,
    }


def test_whole_partitions_are_asked_for_as_often_as_their_entities_unless_the_question_is_skewed() -> None:
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)})
    for skew, busiest in ((None, 96.0), (0.0, 50.0), (1.0, 96.0)):
        query = Query("all of one", {"Department": "="}, rate=100, peak=200, skew=skew)
        found = heat(staff, measured(staff, query, query_class=QueryClass.PARTITION_SCAN))
        assert peaks(found)["Department 1"] == busiest


@pytest.mark.parametrize(("skew", "busiest"), [(0.0, 96.0), (0.5, 96.0), (1.0, 96.0), (2.0, 200 * 144 / 205)])
def test_entities_that_change_often_may_be_in_any_partition(skew: float, busiest: float) -> None:
    """So the more uneven of both distributions decides, not their product."""
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)})
    found = heat(staff, measured(staff, Write("change", "update", rate=100, peak=200, skew=skew), written=1.0))
    assert peaks(found)["Department 1"] == pytest.approx(busiest)


def test_a_scan_works_where_the_entities_lie() -> None:
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)})
    query = Query("by age", {"Age": "="}, rate=0.1)
    found = heat(staff, measured(staff, query, query_class=QueryClass.TABLE_SCAN, examined=20_000.0))
    assert peaks(found)["Department 1"] == 0.1 * 20_000 * 12 / 25


def test_a_call_is_worth_what_it_reads_and_writes_and_at_least_one_entity() -> None:
    staff = declared(Key("staff", "{EmployeeId:06d}"))
    for work, busiest in (((0.0, 0.0), 20.0), ((1.0, 2.0), 60.0)):
        found = write_all(staff, HIRE, examined=work[0], written=work[1])
        assert peaks(found) == {"staff": busiest}


def test_the_hour_takes_all_writes_of_the_moment_and_the_next_one_takes_its_place() -> None:
    events = log(BY_HOUR)
    found = write_all(events, Write("log", "insert", rate=2500, peak=5000))
    assert found.follows_time
    assert peaks(found)["2014-08-22T12"] == 5000.0
    # 2,500 - 2,500 cos(t) is above 2,000 from 78.5 degrees on, which is 5 h 14 min
    assert found.over_target_from == 5.25 * 3600
    hour = 3600 // STEP
    noon = next(each for each in found.partitions if each.partition == "2014-08-22T12")
    assert [step for step, rate in enumerate(noon.rates) if rate] == list(range(12 * hour, 13 * hour))
    assert len(found.partitions) == SHOWN_IN_TURN == 24
    assert found.others == 0


def test_entities_that_each_begin_a_partition_at_the_end_of_the_table_meet_there() -> None:
    for partition in ("{At:ticks}", "{At:ticks}_{Source}"):
        found = write_all(log(Key(partition, "{EntryId:06d}")), Write("log", "insert", rate=100))
        (only,) = found.partitions
        assert (only.partition.startswith("newest At"), only.peak, found.follows_time) == (True, 100.0, True)


def test_a_field_that_differs_spreads_the_writes_of_a_moment() -> None:
    events = log(Key("{Source}_{Hour:%Y-%m-%dT%H}", "{At:ticks}_{EntryId:06d}"))
    found = write_all(events, Write("log", "insert", rate=2500, peak=5000))
    assert max(peaks(found).values()) == 5.0
    assert found.over_target_from is None


def test_who_reads_the_newest_hours_more_often_meets_the_writers() -> None:
    events = log(BY_HOUR)
    query = Query("the last minutes", {"Hour": "="}, rate=10, skew=2.0)
    log_it = Write("log", "insert", rate=10)
    found = heat(
        events, measured(events, log_it), measured(events, query, query_class=QueryClass.RANGE, examined=100.0)
    )
    # About 28 hours of 36,000 entries: of all questions 1 in 1.61 is for the newest
    assert found.partitions[0].peak == pytest.approx(10 + 1000 / 1.61, rel=0.01)


@pytest.mark.parametrize(
    ("by", "peak"), [(("Source",), 1250.0), (("Level",), 2500.0), (("Hour",), 5000.0), (("Hour", "EntryId"), 1250.0)]
)
def test_buckets_divide_a_partition_by_the_values_that_choose_them(by: tuple[str, ...], peak: float) -> None:
    """There are two levels, and one hour in a partition."""
    fields = {"Hour": Field("datetime", order="rising"), "EntryId": Field("int32"), "Source": Field(distinct=5000)}
    key = Key("{Hour:%Y-%m-%dT%H}", "{Level}_{Source}_{EntryId:06d}")
    settings = {"buckets": 4, "by": by}
    events = declared(key, fields | {"Level": Field(distinct=2)}, pattern="partition_spread", settings=settings)
    assert write_all(events, Write("log", "insert", rate=2500, peak=5000)).partitions[0].peak == peak


def test_buckets_share_what_would_be_one_partition() -> None:
    events = log(BY_HOUR, pattern="partition_spread", settings={"buckets": 4})
    found = write_all(events, Write("log", "insert", rate=2500, peak=5000))
    noons = [each for each in found.partitions if each.partition.endswith("_2014-08-22T12")]
    assert [each.partition for each in noons] == [f"0{bucket}_2014-08-22T12" for bucket in range(4)]
    assert {each.peak for each in noons} == {1250.0}


def test_rows_of_an_inter_partition_index_count_toward_their_own_partitions() -> None:
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail")
    staff = declared(derived=(by_email,))
    heats = table_loads(design(staff), [measured(staff, HIRE, examined=1.0, written=2.0)])
    assert [each.table for each in heats] == ["Employees", "ByEmail"]
    # Of three entities one is the copy: 20 a second at the peak, in 4 departments
    assert peaks(heats[0]) == {f"Department {number}": 10.0 for number in (1, 2, 3, 4)}
    assert peaks(heats[1]) == {f"email_Department {number}": 5.0 for number in (1, 2, 3, 4)}


def test_rows_of_an_index_in_the_partition_are_work_of_that_partition() -> None:
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    staff = declared(derived=(by_email,))
    assert peaks(write_all(staff, HIRE, written=2.0))["Department 1"] == 10.0


def test_totals_of_all_in_one_place_are_a_hot_row() -> None:
    totals = Summary(Key("totals", "all"), store=InTable("Totals"))
    staff = declared(Key("{Department}_{EmployeeId:06d}", "row"), derived=(totals,))
    heats = table_loads(design(staff), [measured(staff, HIRE, examined=2.0, written=2.0)])
    assert peaks(heats[1]) == {"totals": 40.0}


def test_a_list_and_its_entities_count_toward_their_own_partitions() -> None:
    by_name = IndexEntity("LastName", store=InTable("ByName"))
    staff = declared(derived=(by_name,))
    query = Query("by name", {"LastName": "="}, rate=100)
    found = measured(staff, query, via=by_name.name, examined=41.0, requests=41.0, transactions=41.0, returned=40.0)
    heats = table_loads(design(staff), [found])
    assert {each.table: max(peaks(each).values()) for each in heats} == {"Employees": 1000.0, "ByName": 0.2}


def test_a_list_in_the_partition_is_read_with_its_entities() -> None:
    by_name = IndexEntity("LastName")
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)}, derived=(by_name,))
    query = Query("by name", {"Department": "=", "LastName": "="}, rate=100)
    found = heat(staff, measured(staff, query, via=by_name.name, examined=11.0, requests=11.0, returned=10.0))
    assert peaks(found) == {"Department 1": 528.0, "Department 2": 264.0, "Department 3": 176.0, "Department 4": 132.0}


def test_a_skewed_partition_is_as_busy_by_ranges_as_by_points() -> None:
    """An id that is appended to a point query makes a range of one entity, and nothing about the partition changes."""
    staff = declared(fields=EMPLOYEE | {"Department": Field(distinct=4, skew=1.0)})
    point = measured(staff, BY_ID)
    by_range = Query("by range", {"Department": "=", "EmployeeId": "range"}, rate=100, peak=200)
    found = measured(staff, by_range, query_class=QueryClass.RANGE, examined=1.0)
    assert peaks(heat(staff, found)) == peaks(heat(staff, point))


def test_lists_in_blobs_are_no_work_of_a_table() -> None:
    staff = declared(derived=(IndexEntity("LastName", store=InBlobs("names")),))
    heats = table_loads(design(staff), [measured(staff, HIRE, written=1.0)])
    assert [each.table for each in heats] == ["Employees"]


def test_what_is_written_with_another_set_is_work_of_that_set_too() -> None:
    count = Write("count", "update", ("Count",))
    heads = declared(Key("heads", "{Department}"), EMPLOYEE, name="Heads", table="Heads", writes=(count,))
    hire = Write("hire", "insert", rate=20, atomic_with=("count",))
    staff = declared(writes=(hire,))
    heats = table_loads(design(staff, heads), [measured(staff, hire, written=2.0)])
    assert {each.table: peaks(each) for each in heats} == {
        "Employees": {f"Department {number}": 5.0 for number in (1, 2, 3, 4)},
        "Heads": {"heads": 20.0},
    }


def test_an_update_leaves_alone_what_does_not_hold_what_changes() -> None:
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail", include=["LastName"])
    staff = declared(derived=(by_email,))
    for changes, tables in ((("Age",), ["Employees"]), (("LastName",), ["Employees", "ByEmail"])):
        write = Write("change", "update", changes, rate=1)
        heats = table_loads(design(staff), [measured(staff, write, examined=1.0, written=2.0)])
        assert [each.table for each in heats] == tables


def test_a_table_to_which_nothing_is_done_has_no_heat() -> None:
    staff = declared()
    assert table_loads(design(staff), [measured(staff, Query("never", rate=0))]) == ()


def test_a_set_that_is_empty_yet_is_looked_at_as_it_is_after_a_year() -> None:
    staff = declared(Key("{Department}_{EmployeeId:06d}", "row"), count=0, growth=1000.0)
    assert write_all(staff, HIRE).others == 1000 - SHOWN


def test_reads_of_the_first_entities_are_not_cooled_by_buckets() -> None:
    events = log(Key("log", "{At:inverted}_{EntryId:06d}"))
    query = Query("the latest", take=100, rate=30)
    found = heat(events, measured(events, query, query_class=QueryClass.RANGE, examined=100.0))
    assert (found.buckets, found.spread_peak) == (1, 3000.0)


def test_the_account_takes_the_requests_of_all_access_patterns() -> None:
    staff = declared()
    load = account_load([measured(staff, HIRE, transactions=5.0, requests=4.0), measured(staff, BY_ID)])
    assert load.rates[NOON] == 20 * 5 + 200
    assert sum(load.rates) / STEPS == pytest.approx(10 * 5 + 100)
    assert load.target == 20_000


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_shares_of_very_many_values_add_up_as_those_of_few_do(exponent: float) -> None:
    for count in (7, 30_000):
        values = Zipf(count, exponent)
        assert math.isclose(math.fsum(values.share(rank) for rank in range(1, count + 1)), 1.0, rel_tol=1e-9)
        assert values.share(count + 1) == 0


# -- By law

rates = st.floats(0.1, 1e5)
writes = st.builds(
    lambda rate, times: Write("hire", "insert", rate=rate, peak=rate * times), rates, st.floats(1.0, 20.0)
)
works = st.floats(0.0, 1e4)
departments = st.builds(lambda distinct, skew: Field(distinct=distinct, skew=skew), st.integers(1, 8), st.floats(0, 3))
staffs = st.builds(lambda department: declared(fields=EMPLOYEE | {"Department": department}), departments)


@given(staffs, writes, works)
def test_no_work_is_lost_and_none_is_made(staff: DeclaredSet, write: Write, work: float) -> None:
    found = write_all(staff, write, written=work)
    curve = day_curve(write.rate, write.busiest)
    for step in (0, NOON // 2, NOON):
        total = sum(each.rates[step] for each in found.partitions)
        assert math.isclose(total, curve[step] * max(1.0, work), rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(sum(each.share for each in found.partitions), 1.0, rel_tol=1e-9)


@given(staffs, writes, works)
def test_at_the_ceiling_the_busiest_partition_is_at_its_target(staff: DeclaredSet, write: Write, work: float) -> None:
    found = write_all(staff, write, written=work)
    assert math.isclose(found.headroom * found.partitions[0].peak, found.target, rel_tol=1e-9)
    assert (found.over_target_from is not None) == (found.partitions[0].peak > found.target)
    faster = Write("hire", "insert", rate=write.rate * found.headroom, peak=write.busiest * found.headroom)
    assert math.isclose(write_all(staff, faster, written=work).partitions[0].peak, found.target, rel_tol=1e-9)


@given(staffs, writes, works)
def test_so_many_buckets_divide_the_peak_of_writes_and_half_as_many_are_too_few(
    staff: DeclaredSet, write: Write, work: float
) -> None:
    found = write_all(staff, write, written=work)
    peak = found.partitions[0].peak
    assert math.isclose(found.spread_peak * found.buckets, peak, rel_tol=1e-9)
    assert found.buckets == 1024 or found.spread_peak < found.target / 2
    assert found.buckets == 1 or peak / (found.buckets / 2) >= found.target / 2


@given(staffs, writes, st.floats(1.0, 10.0))
def test_more_calls_are_never_less_work(staff: DeclaredSet, write: Write, times: float) -> None:
    slow = write_all(staff, write)
    fast = write_all(staff, Write("hire", "insert", rate=write.rate * times, peak=write.busiest * times))
    for few, many in zip(slow.partitions, fast.partitions, strict=True):
        assert many.peak >= few.peak


@given(st.floats(0.01, 1e4), st.floats(1.0, 280.0))
def test_the_curve_of_a_day_has_the_mean_and_the_peak_that_are_declared(rate: float, times: float) -> None:
    curve = day_curve(rate, rate * times)
    assert math.isclose(max(curve), rate * times, rel_tol=1e-9)
    assert math.isclose(sum(curve) / STEPS, rate, rel_tol=1e-6)
    assert min(curve) >= 0


def test_the_same_design_has_the_same_heat() -> None:
    first, second = (
        table_loads(design(events), [measured(events, Write("log", "insert", rate=2500))])
        for events in (log(BY_HOUR), log(BY_HOUR))
    )
    assert first == second


def test_employees_of_the_guide_are_cool() -> None:
    found = heat(declared(key=EMPLOYEES), measured(declared(key=EMPLOYEES), BY_ID))
    assert (found.headroom, found.over_target_from, found.buckets, found.spread_peak) == (40.0, None, 1, 50.0)


def test_the_time_when_the_target_is_first_exceeded_is_reported() -> None:
    assert seconds_until_over([1.0, 2000.0, 2001.0, 1.0], target=2000.0, step=300.0) == 600.0
    assert seconds_until_over([2000.0], target=2000.0, step=300.0) is None
