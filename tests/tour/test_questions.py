"""The tour's answers, compared with its data; their costs, compared with the engine's ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from examples.tour import questions
from examples.tour.data import Fields, Source
from examples.tour.design import Design
from examples.tour.load import load
from examples.tour.meter import Cost, Meter
from examples.tour.questions import QUESTIONS, Answer
from rich.console import Console

from support import january_flights as january_flights
from tablepatterns import Entity, Storage, connect
from tablepatterns.filters import QueryClass

DAYS = 2


@dataclass(frozen=True)
class Tour:
    """Two days of flights, and all rows of their tables."""

    storage: Storage
    design: Design
    meter: Meter

    def ask(self, question: Callable[[Design], Answer]) -> tuple[list[Entity], Cost]:
        with self.meter.measuring(self.storage) as cost:
            answer = question(self.design)
        return answer.entities, cost


class OneAirport(Source):
    """The files with the only airport that the questions ask for: each airport is loaded by its own transaction."""

    def airports(self) -> Iterator[Fields]:
        return (each for each in super().airports() if each["Airport"] == "BUF")


@pytest.fixture(scope="module")
def tour() -> Iterator[Tour]:
    meter = Meter()
    with connect(raw_response_hook=meter) as storage:
        design = Design.on(storage)
        load(OneAirport.installed(), design, Console(quiet=True), DAYS)
        yield Tour(storage, design, meter)


@pytest.fixture(scope="module")
def rows() -> list[january_flights.Row]:
    return january_flights.january_flights(DAYS)


def flight_in(row: january_flights.Row) -> tuple[str, int, int, str]:
    return row["carrier"], int(row["day"]), int(row["flight"]), row["origin"]


def flight_of(entity: Entity) -> tuple[Any, ...]:
    return entity["Carrier"], entity["Date"].day, entity["Number"], entity["Origin"]


def on_new_year(rows: list[january_flights.Row]) -> list[january_flights.Row]:
    return [row for row in rows if row["carrier"] == "B6" and row["day"] == "1"]


def test_a_flight_is_found_by_its_key(tour: Tour, rows: list[january_flights.Row]) -> None:
    (found,), _ = tour.ask(questions.flight)
    (row,) = [row for row in rows if flight_in(row) == ("B6", 1, 130, "JFK")]
    assert flight_of(found) == flight_in(row)
    assert found["DepartedAt"] == january_flights.departed(row)
    assert (found["TailNumber"], found["Destination"]) == (row["tailnum"], row["dest"])
    assert found["Miles"] == int(row["distance"])


def test_what_the_flight_names_is_found_by_its_keys(tour: Tour) -> None:
    (airline, plane, airport), _ = tour.ask(questions.named_by_the_flight)
    assert airline == {"Carrier": "B6", "Name": "JetBlue Airways"}
    assert (plane["Manufacturer"], plane["Model"], plane["BuiltIn"]) == ("EMBRAER", "ERJ 190-100 IGW", 2007)
    assert (airport["Name"], airport["TimeZone"]) == ("Buffalo Niagara Intl", "America/New_York")


def test_a_planes_flights_come_all_and_in_the_order_of_time(tour: Tour, rows: list[january_flights.Row]) -> None:
    found, _ = tour.ask(questions.flights_of_the_plane)
    expected = sorted((row for row in rows if row["tailnum"] == "N281JB"), key=january_flights.scheduled)
    assert len(expected) > 3
    assert [flight_of(each) for each in found] == [flight_in(row) for row in expected]


def test_the_latest_departures_are_the_latest_by_the_time_of_leaving(
    tour: Tour, rows: list[january_flights.Row]
) -> None:
    found, _ = tour.ask(questions.latest_departures)
    left = [row for row in rows if row["origin"] == "JFK" and row["dep_time"] != "NA"]
    latest = sorted(left, key=january_flights.departed, reverse=True)[:10]
    assert [each["DepartedAt"] for each in found] == [january_flights.departed(row) for row in latest]
    assert {(each["Carrier"], each["Number"]) for each in found} == {
        (row["carrier"], int(row["flight"])) for row in latest
    }


@pytest.mark.parametrize(
    "question", [questions.day_of_the_carrier, questions.day_by_partition_scan, questions.day_by_table_scan]
)
def test_a_carriers_day_is_the_same_however_it_is_asked(
    question: Callable[[Design], Answer], tour: Tour, rows: list[january_flights.Row]
) -> None:
    found, _ = tour.ask(question)
    assert Counter(map(flight_of, found)) == Counter(map(flight_in, on_new_year(rows)))


def test_every_departure_is_in_the_log_and_nothing_that_never_left(tour: Tour, rows: list[january_flights.Row]) -> None:
    logged = [each for origin in ("EWR", "JFK", "LGA") for each in tour.design.departures.range(Origin=origin)]
    left = [row for row in rows if row["dep_time"] != "NA"]
    assert len(left) < len(rows)
    assert Counter((each["Origin"], each["DepartedAt"], each["Carrier"], each["Number"]) for each in logged) == Counter(
        (row["origin"], january_flights.departed(row), row["carrier"], int(row["flight"])) for row in left
    )


def test_a_flight_without_a_plane_is_kept_and_is_in_no_index(tour: Tour, rows: list[january_flights.Row]) -> None:
    row = next(row for row in rows if row["tailnum"] == "NA")
    carrier, _, number, origin = flight_in(row)
    date = january_flights.scheduled(row).astimezone(questions.NEW_YORK).date()
    found = tour.design.flights.get(Carrier=carrier, Date=date, Number=number, Origin=origin)
    assert found is not None
    assert "TailNumber" not in found
    held = tour.storage.tables.get_table_client("Flights").query_entities(f"PartitionKey eq '{carrier}'")
    copies = sum(each["RowKey"].startswith("tail_") for each in held)
    assert copies == sum(row["carrier"] == carrier and row["tailnum"] != "NA" for row in rows)


def test_what_is_examined_is_what_is_wanted_until_it_scans(tour: Tour, rows: list[january_flights.Row]) -> None:
    costs = {question.ask: tour.ask(question.ask)[1] for question in QUESTIONS}
    scans = {questions.day_by_partition_scan: "B6", questions.day_by_table_scan: None}
    for ask, cost in costs.items():
        if ask not in scans:
            assert cost.query_class <= QueryClass.RANGE
            assert cost.examined == cost.returned
        else:
            held = [row for row in rows if row["carrier"] == (scans[ask] or row["carrier"])]
            copies = [row for row in held if row["tailnum"] != "NA"]
            airlines = 1 if scans[ask] else 16
            assert cost.examined == len(held) + len(copies) + airlines
            assert cost.returned == len(on_new_year(rows))
    classes = [cost.query_class.label for cost in costs.values()]
    assert classes == ["point query"] * 2 + ["range query"] * 3 + ["partition scan", "table scan"]


def test_the_meter_agrees_with_the_ledger(tour: Tour) -> None:
    assert tour.storage.engine is not None
    for question in QUESTIONS:
        with tour.storage.engine.ledger.span() as span:
            entities, cost = tour.ask(question.ask)
        totals = span.totals
        assert (cost.requests, cost.examined, cost.returned) == (totals.requests, totals.examined, totals.returned)
        assert set(totals.by_query_class) == {cost.query_class.label}
        assert cost.returned == len(entities)
        assert cost.seconds > 0
