"""Prices: monthly costs, as examples and properties, and the format of price tables."""

from __future__ import annotations

import math
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.declared_staff import EMPLOYEE, declared, design, log, measured
from tablepatterns import IndexEntity, InterPartitionIndex, Key, LargeProperties
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.errors import BadInput
from tablepatterns.figures import SECONDS_OF_A_MONTH
from tablepatterns.filters import QueryClass
from tablepatterns_review import BadPriceTable, PriceTable
from tablepatterns_review.capacity.price import Capacity, OperationPrices, bill, charges_of
from tablepatterns_review.design.model import DeclaredSet, Field, Query, Write
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.result import Bill, Measured

DEFAULT = files("tablepatterns").joinpath("prices.toml").read_text(encoding="utf-8")
HIRE = Write("hire", "insert", rate=10)
FIRE = Write("fire", "delete", rate=1)
BY_ID = Query("by id", {"Department": "=", "EmployeeId": "="}, rate=100)
ALL = Query("all", rate=0.5)
SCAN: dict[str, Any] = {
    "query_class": QueryClass.TABLE_SCAN,
    "examined": 20_000.0,
    "returned": 20_000.0,
    "transactions": 20.0,
}

ROUND = PriceTable(
    "EUR",
    date(2026, 1, 1),
    "a contract",
    "here",
    "LRS",
    1_000_000.0,
    OperationPrices(
        table_reads=1.0,
        table_scans=2.0,
        table_writes=4.0,
        table_deletes=0.0,
        queue_operations=8.0,
        blob_reads=16.0,
        blob_writes=32.0,
    ),
    {"LRS": Capacity(tables=100.0, blobs=10.0)},
)


def cost(of: DeclaredSet, *found: Measured, prices: PriceTable = ROUND) -> Bill:
    return bill(design(of), found, prices)


def by_unit(found: Bill) -> dict[str, float]:
    return {line.unit: line.quantity for line in found.lines}


# -- By hand


def test_each_access_pattern_costs_its_transactions_and_each_set_its_bytes() -> None:
    staff = declared()
    found = cost(staff, measured(staff, HIRE), measured(staff, BY_ID), measured(staff, FIRE))
    assert {(line.subject, line.unit): line.amount for line in found.lines} == {
        ("Employees: hire", "table writes"): pytest.approx(10 * SECONDS_OF_A_MONTH / 10_000 * 4),
        ("Employees: by id", "table reads"): pytest.approx(100 * SECONDS_OF_A_MONTH / 10_000 * 1),
        ("Employees: fire", "table deletes"): 0.0,
        # 214 bytes each: see the sizes
        ("Employees", "GB in tables"): pytest.approx(20_000 * 214 / 1_000_000 * 100),
    }
    assert found.total == pytest.approx(sum(line.amount for line in found.lines))
    assert (found.currency, found.dated, found.source) == ("EUR", date(2026, 1, 1), "a contract")


def test_by_the_default_prices_a_hundred_point_queries_a_second_cost_nine_and_a_half_dollars() -> None:
    staff = declared(count=0)
    found = cost(staff, measured(staff, BY_ID), prices=PriceTable.default())
    # 100 * 30.44 * 86,400 = 263,001,600 at 0.00036 for each 10,000
    assert found.total == pytest.approx(9.4680576)


def test_a_scan_costs_a_transaction_for_each_page_and_more_as_the_table_grows() -> None:
    staff = declared(growth=20_000)
    scan = measured(
        staff, ALL, query_class=QueryClass.TABLE_SCAN, examined=20_000.0, returned=20_000.0, transactions=20.0
    )
    found = cost(staff, scan)
    assert by_unit(found)["table scans"] == pytest.approx(0.5 * SECONDS_OF_A_MONTH * 20)
    capacity = 20_000 * 214 / 1_000_000 * 100
    # After three years there are 80,000, in 80 pages
    assert found.then == pytest.approx(0.5 * SECONDS_OF_A_MONTH * 80 / 10_000 * 2 + 4 * capacity)


def test_a_scan_of_half_a_page_is_of_two_pages_when_there_are_four_times_as_many() -> None:
    staff = declared(growth=20_000)
    scan = measured(staff, ALL, query_class=QueryClass.TABLE_SCAN, examined=2_000.0, returned=500.0, partitions=4.0)
    found = cost(staff, scan)
    scans, capacity = found.lines[0].amount, found.lines[1].amount
    assert found.then == pytest.approx(2 * scans + 4 * capacity)


def test_a_range_that_has_an_end_costs_the_same_however_many_there_are() -> None:
    events = log(Key("{Source}", "{At:inverted}_{EntryId:06d}"), growth=1e6, queries=())
    latest = Query("latest", {"Source": "="}, take=10, rate=1)
    found = cost(events, measured(events, latest, query_class=QueryClass.RANGE, examined=10.0))
    capacity = [line.amount for line in found.lines if line.subject == "Log"]
    assert found.then - found.total == pytest.approx(3 * sum(capacity))


def test_a_write_that_is_announced_pays_for_its_message() -> None:
    staff = declared(derived=(InterPartitionIndex(Key("email_{Department}", "{Email}")),))
    found = measured(staff, HIRE, transactions=5.0, examined=1.0, written=2.0, queue_operations=2.0)
    assert charges_of(found) == {"table_writes": 2.0, "queue_operations": 2.0, "table_reads": 1.0}


def test_deletions_of_blobs_are_free() -> None:
    found = measured(declared(), HIRE, transactions=3.0, written=1.0, blob_deletes=2.0)
    assert charges_of(found) == {"table_writes": 1.0}


def test_lists_in_blobs_are_read_and_written_as_blobs() -> None:
    by_name = IndexEntity("LastName", store=InBlobs("names"))
    staff = declared(derived=(by_name,))
    of_blobs = {"blob_reads": 1.0, "blob_writes": 1.0}
    found = measured(staff, HIRE, transactions=6.0, examined=1.0, queue_operations=2.0, **of_blobs)
    assert charges_of(found) == {"table_writes": 1.0, "queue_operations": 2.0, "table_reads": 1.0, **of_blobs}
    query = Query("by name", {"LastName": "="}, rate=1)
    asked = measured(staff, query, via=by_name.name, transactions=41.0, examined=40.0, returned=40.0, blob_reads=1.0)
    assert charges_of(asked) == {"blob_reads": 1.0, "table_reads": 40.0}
    assert by_unit(cost(staff))["GB in blobs"] > 0


def test_what_was_measured_is_what_is_charged() -> None:
    photos = LargeProperties(["Photo"], container="photos", above=1000)
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), table="ByEmail")
    fields = EMPLOYEE | {"Photo": Field("binary", size=5000)}
    staff = declared(fields=fields, mappings=(photos,), derived=(by_email,), writes=(FIRE, HIRE), queries=(BY_ID,))
    found = {each.access.name: charges_of(each) for each in measure(design(staff), most=20)}
    assert found["by id"] == {"table_reads": 1.0, "blob_reads": 1.0}
    # The intent is sent and deleted; the photo is written; the primary and its copy; a look at the primary
    assert found["hire"] == {"queue_operations": 2.0, "blob_writes": 1.0, "table_writes": 2.0, "table_reads": 1.0}


def test_a_list_that_names_more_entities_costs_more_to_follow() -> None:
    by_name = IndexEntity("LastName", store=InTable("ByName"))
    staff = declared(derived=(by_name,), growth=20_000)
    query = Query("by name", {"LastName": "="}, rate=1)
    asked = measured(staff, query, via=by_name.name, transactions=41.0, examined=41.0, returned=40.0)
    found = cost(staff, asked)
    now, capacity = found.lines[0].amount, found.total - found.lines[0].amount
    assert found.then == pytest.approx(4 * now + 4 * capacity, rel=0.02)


def test_large_values_are_kept_as_blobs() -> None:
    photos = LargeProperties(["Photo"], container="photos", above=1000)
    staff = declared(fields=EMPLOYEE | {"Photo": Field("binary", size=5000)}, mappings=(photos,))
    assert by_unit(cost(staff))["GB in blobs"] == pytest.approx(20_000 * 5000 / 1_000_000)


# -- By law


@given(
    st.floats(0, 50),
    st.floats(0, 100),
    st.floats(0, 0.6),
    st.sampled_from(list(QueryClass)),
    st.sampled_from(["get", "insert", "delete"]),
)
def test_every_transaction_is_charged_once(
    transactions: float, examined: float, share: float, query_class: QueryClass, what: str
) -> None:
    staff = declared(
        derived=(IndexEntity("LastName", store=InBlobs("names")), InterPartitionIndex(Key("i", "{Email}")))
    )
    access = {"get": BY_ID, "insert": HIRE, "delete": FIRE}[what]
    elsewhere = {"queue_operations": transactions * share, "blob_reads": transactions * share / 2}
    other = {"query_class": query_class} if what == "get" else {}
    charges = charges_of(measured(staff, access, transactions=transactions, examined=examined, **elsewhere, **other))
    assert math.isclose(sum(charges.values()), transactions, rel_tol=1e-9, abs_tol=1e-9)
    assert all(each > 0 for each in charges.values())


@given(st.floats(0, 1e4), st.floats(1, 10))
def test_money_follows_the_rate(rate: float, times: float) -> None:
    staff = declared(count=0)
    slow, fast = (
        cost(staff, measured(staff, Write("hire", "insert", rate=each))).total for each in (rate, rate * times)
    )
    assert math.isclose(fast, slow * times, rel_tol=1e-9, abs_tol=1e-300)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_growth_never_makes_a_month_cheaper(growth: float, more: float) -> None:
    bills = [
        cost(
            staff,
            measured(
                staff, ALL, query_class=QueryClass.TABLE_SCAN, examined=20_000.0, returned=20_000.0, transactions=20.0
            ),
        )
        for staff in (declared(growth=growth), declared(growth=growth + more))
    ]
    assert bills[0].total <= bills[0].then <= bills[1].then


# -- The table


def test_the_default_prices_say_of_what_day_they_are_and_where_they_come_from() -> None:
    prices = PriceTable.default()
    assert prices.dated <= date(2026, 11, 21)
    assert prices.source.startswith("Azure Table storage pricing, https://azure.microsoft.com/")
    assert (prices.currency, prices.redundancy, prices.capacity.tables) == ("USD", "LRS", 0.045)
    assert prices.operations["table_writes"] == 0.00036


def test_ones_own_prices_take_their_place(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    own = DEFAULT.replace('redundancy = "LRS"', 'redundancy = "GRS"').replace("= 0.00036", "= 1")
    file.write_text(own + "\n[per_gb_month.GRS]\ntables = 0.06\nblobs = 0.03\n", encoding="utf-8")
    prices = PriceTable.read(file)
    assert (prices.capacity, prices.operations["table_reads"]) == (Capacity(0.06, 0.03), 1.0)


def line_of(text: str) -> int:
    return DEFAULT[: DEFAULT.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "at", "key"),
    [
        ("dated = 2026-09-12", 'dated = "12 September"', "dated =", "dated"),
        ("dated = 2026-09-12", "dated = 2026-09-12T00:00:00Z", "dated =", "dated"),
        ('currency = "USD"', 'currency = ""', "currency =", "currency"),
        ('region = "East US 2"', "region = 2", "region =", "region"),
        ('redundancy = "LRS"', 'redundancy = "GRS"', "redundancy =", "redundancy"),
        ("bytes_per_gb = 1_073_741_824", "bytes_per_gb = 0", "bytes_per_gb =", "bytes_per_gb"),
        ("table_reads = 0.00036", "table_reads = -1", "table_reads =", "table_reads"),
        ("table_reads = 0.00036", "table_reads = true", "table_reads =", "table_reads"),
        ("[per_gb_month.LRS]", "[per_gb_month.LRS]\nfiles = 1", "tables = 0", "files"),
        ("table_reads = 0.00036\n", "", "[per_10_000_operations]", "table_reads"),
        ("blobs = 0.0184", 'blobs = "$0.0184"', "blobs = 0", "blobs"),
        ("blobs = 0.0184", "blobs = inf", "blobs = 0", "blobs"),
        ('currency = "USD"', "currency = USD", "currency =", "not TOML"),
    ],
)
def test_a_wrong_table_is_rejected_with_line_and_key(tmp_path: Path, old: str, new: str, at: str, key: str) -> None:
    file = tmp_path / "prices.toml"
    assert old in DEFAULT
    file.write_text(DEFAULT.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        PriceTable.read(file)
    (said, *more) = str(refused.value).splitlines()
    assert said.startswith(f"prices.toml:{line_of(at)}: ")
    assert key in said
    assert [each for each in more if each.startswith("prices.toml")] == []


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(DEFAULT.replace('"USD"', "3").replace("blobs = 0.0184", "blobs = -1"), encoding="utf-8")
    with pytest.raises(BadPriceTable) as refused:
        PriceTable.read(file)
    assert [line for line, _ in refused.value.problems] == [line_of("currency ="), line_of("blobs = 0")]


def test_a_key_that_is_given_twice_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(DEFAULT + "blobs = 1\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"prices\.toml:\d+: not TOML"):
        PriceTable.read(file)


def test_a_misspelled_key_is_reported_with_the_intended_one(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(DEFAULT.replace("currency =", "curency ="), encoding="utf-8")
    with pytest.raises(BadPriceTable, match=r"did you mean currency\?"):
        PriceTable.read(file)
