"""The tour's flights: the sets that the tour itself declares, and the same design as flights.toml."""

from __future__ import annotations

from examples.tour.design import Design

from tablepatterns import connect
from tablepatterns_review import Design as Reviewable
from tablepatterns_review import Field, Query, Shape, Write, declare_set

tour = Design.on(connect())
CARRIER = Field(distinct=16, skew=0.9, size=2)
NUMBER = Field("int32", distinct=3_800)
ORIGIN = Field(distinct=3, size=3)
AIRLINE = Field(distinct=16, size=24)
TAIL_NUMBER = Field(distinct=4_000, size=6)
DEPARTED_AT = Field("datetime", order="rising")
DELAY = Field("int32", distinct=500)
DESTINATION = Field(distinct=105, skew=0.6, size=3)

airlines = declare_set(
    tour.airlines,
    name="Airlines",
    shape=Shape("Airline", 16, {"Carrier": Field(size=2), "Name": Field(size=24)}),
    queries=[Query("airline of a flight", {"Carrier": "="}, rate=2, peak=6)],
)

flights = declare_set(
    tour.flights,
    shape=Shape(
        "Flight",
        336_776,
        {
            "Carrier": CARRIER,
            "Date": Field("datetime", order="rising", distinct=365),
            "Number": NUMBER,
            "Origin": ORIGIN,
            "Airline": AIRLINE,
            "TailNumber": TAIL_NUMBER,
            "ScheduledAt": Field("datetime", order="rising"),
            "DepartedAt": DEPARTED_AT,
            "DepartureDelay": DELAY,
            "Destination": DESTINATION,
        },
        growth=336_776,
    ),
    queries=[
        Query(
            "flight of a day",
            {"Carrier": "=", "Date": "=", "Number": "=", "Origin": "="},
            rate=5,
            peak=20,
            max_staleness=3_600,
        ),
        Query(
            "flights of a plane",
            {"Carrier": "=", "TailNumber": "="},
            select=("Destination", "DepartedAt", "DepartureDelay"),
            rate=0.5,
            peak=2,
            max_staleness=3_600,
        ),
        Query("day of a carrier", {"Carrier": "=", "Date": "="}, rate=0.2, peak=0.6, max_staleness=3_600),
    ],
    writes=[Write("load flight", "insert", rate=0.0107, peak=0.5, atomic_with=("log departure",))],
)

airports = declare_set(
    tour.airports,
    shape=Shape(
        "Airport",
        1_458,
        {
            "Airport": Field(size=3),
            "Name": Field(size=24),
            "Latitude": Field("double"),
            "Longitude": Field("double"),
        },
    ),
    queries=[Query("airport of a flight", {"Airport": "="}, rate=2, peak=6)],
)

departures = declare_set(
    tour.departures,
    name="Departures",
    shape=Shape(
        "Departure",
        328_521,
        {
            "Origin": ORIGIN,
            "DepartedAt": DEPARTED_AT,
            "EntryId": Field("guid"),
            "Carrier": CARRIER,
            "Number": NUMBER,
            "Airline": AIRLINE,
            "TailNumber": TAIL_NUMBER,
            "Destination": DESTINATION,
            "DepartureDelay": DELAY,
        },
        growth=328_521,
    ),
    queries=[
        Query(
            "ten latest departures",
            {"Origin": "="},
            order="-DepartedAt",
            take=10,
            rate=3,
            peak=12,
            max_staleness=60,
        )
    ],
    writes=[Write("log departure", "insert", rate=0.0104, peak=0.5)],
)

planes = declare_set(
    tour.planes,
    shape=Shape(
        "Plane",
        3_322,
        {
            "TailNumber": Field(size=6),
            "Manufacturer": Field(distinct=35, size=16),
            "Model": Field(distinct=127, size=9),
            "Seats": Field("int32", distinct=48),
        },
        growth=150,
    ),
    queries=[Query("plane of a flight", {"TailNumber": "="}, rate=2, peak=6)],
)

design = Reviewable("Flights of New York", (airlines, flights, airports, departures, planes), years=5)
