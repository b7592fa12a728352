"""A wall clock that is set back, a machine that is suspended, and instants in an hour that is repeated."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import (
    EntitySet,
    IndexEntity,
    IntraPartitionIndex,
    Key,
    LogTail,
    Lookup,
    Period,
    PeriodTables,
    Rekey,
    Storage,
    Summary,
    between,
    connect,
    prop,
)
from tablepatterns.account import Stopwatch
from tablepatterns.errors import BadKey, LeaseLost
from tablepatterns.messages.lease import Envelope, Lease
from tablepatterns.rate_limit import Pace
from tablepatterns.recipe import as_async, finish
from tablepatterns.recipes.period import Retention
from tablepatterns_engine.account import Engine

KEY: Final = Key("{Department}", "{EmployeeId:06d}")
JONES: Final[dict[str, Any]] = {"Department": "Sales", "EmployeeId": 1}
START: Final = datetime(2026, 11, 25, tzinfo=timezone.utc)


class ClockSetBack:
    """The clock of an account, which is set back by an hour and then goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now, self._behind = Storage.now, timedelta(0)
        monkeypatch.setattr(Storage, "now", lambda account: self._now(account) - self._behind)

    def set_back(self) -> None:
        self._behind += timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ClockSetBack:
    return ClockSetBack(monkeypatch)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e7, 1e7), st.booleans())))
def test_no_time_is_lost_while_one_of_two_clocks_is_right(steps: list[tuple[float, float, bool]]) -> None:
    """In each step the wall clock is set, or the machine was suspended, which the monotonic clock may not count."""
    stopwatch, wall, steady, passed = Stopwatch(), START, timedelta(0), timedelta(0)
    totals = [stopwatch.read(wall, steady)]
    for seconds, correction, is_suspended in steps:
        step = timedelta(seconds=seconds)
        passed += step
        steady += timedelta(0) if is_suspended else step
        wall += step if is_suspended else step + timedelta(seconds=correction)
        totals.append(stopwatch.read(wall, steady))
        assert totals[-1] - totals[0] >= passed
    assert totals == sorted(totals)


def test_an_account_measures_with_both_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    account = connect("UseDevelopmentStorage=true")
    before = account._elapsed()
    monkeypatch.setattr("tablepatterns.account.monotonic", lambda: 1e9)
    after = account._elapsed()
    monkeypatch.undo()
    assert after > before
    assert account._elapsed() >= after


def test_a_lease_ends_when_it_does(clock: ClockSetBack) -> None:
    engine = Engine()
    account = as_async(connect(engine))
    lease = finish(Lease.on_new(account, account.queue("work"), Envelope("some work", {}), 60))
    clock.set_back()
    engine.clock.advance(61)
    assert lease.remaining <= 0
    other = finish(account.queue("work").receive(1, lease=60))
    assert len(other) == 1
    with pytest.raises(LeaseLost):
        finish(lease.renew_if_due())


def test_a_limit_of_requests_does_not_wait_for_the_clock(clock: ClockSetBack) -> None:
    engine = Engine()
    account = as_async(connect(engine))
    pace = Pace(account, 10)
    finish(pace.turn())
    clock.set_back()
    before = engine.clock.now()
    finish(pace.turn())
    assert (engine.clock.now() - before) / 10_000_000 <= 0.11


def test_a_lookup_returns_nothing_older_than_it_says(clock: ClockSetBack) -> None:
    engine = Engine()
    staff = EntitySet(connect(engine), "Staff", KEY)
    staff.insert({**JONES, "Name": "Jones"})
    lookups = [Lookup(staff, expires=timedelta(minutes=1), whole_table=whole_table) for whole_table in (False, True)]

    def names(lookup: Any) -> str:
        return str(lookup.get(JONES)["Name"])

    assert [names(lookup) for lookup in lookups] == ["Jones", "Jones"]
    staff.update(lambda entity: entity.update(Name="Smith"), JONES)
    clock.set_back()
    engine.clock.advance(61)
    assert [names(lookup) for lookup in lookups] == ["Smith", "Smith"]


def test_a_reader_learns_of_a_phase_within_refresh(clock: ClockSetBack) -> None:
    engine = Engine()

    def move() -> Any:
        storage = connect(engine)
        return Rekey(EntitySet(storage, "Old", KEY), EntitySet(storage, "New", Key("{Email}", "x")), refresh=10)

    operator, reader = move(), move()
    operator.entities.insert({**JONES, "Email": "jo", "Age": 1})
    operator.copy()
    operator.verify()
    assert reader.entities.get(JONES)["Age"] == 1
    clock.set_back()
    operator.cut_over()
    operator.commit()
    operator.entities.update(lambda entity: entity.update(Age=2), Email="jo")
    with pytest.raises(BadKey, match="committed"):
        reader.entities.get(JONES)
    assert reader.entities.get(Email="jo")["Age"] == 2


def test_a_change_of_the_phase_gives_up_after_max_pause(clock: ClockSetBack) -> None:
    engine = Engine()
    storage = connect(engine)
    move = Rekey(EntitySet(storage, "Old", KEY), EntitySet(storage, "New", Key("{Email}", "x")), max_pause=5)
    finish(move._writer.change_state(finish(move._writer.read_state()), phase=type(move.status().phase).CUTTING_OVER))
    clock.set_back()
    before = engine.clock.now()
    move.entities.insert({**JONES, "Email": "jo"})
    assert (engine.clock.now() - before) / 10_000_000 < 10


# Repeated hours, in which `==` of Python does not tell instants of one zone apart

ZONES: Final = {
    "Europe/Berlin": datetime(2026, 10, 25, 0, 0, tzinfo=timezone.utc),
    "America/New_York": datetime(2026, 11, 1, 5, 0, tzinfo=timezone.utc),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 14, 30, tzinfo=timezone.utc),
}
"""Zones, and an instant shortly before clocks are set back."""


@st.composite
def instants(draw: st.DrawFn) -> list[datetime]:
    """Return some instants around the change, in the local time of one zone or in UTC."""
    zone = draw(st.sampled_from(sorted(ZONES)))
    minutes = draw(st.lists(st.sampled_from(range(0, 180, 15)), min_size=2, max_size=5, unique=True))
    start, places = ZONES[zone], st.sampled_from([ZoneInfo(zone), timezone.utc])
    return [(start + timedelta(minutes=minute)).astimezone(draw(places)) for minute in minutes]


def in_utc(moments: list[datetime]) -> list[datetime]:
    return [moment.astimezone(timezone.utc) for moment in moments]


def keyed(moments: list[datetime]) -> list[object]:
    """Use instants as keys: writes that keep a key or change it, and reads."""
    events: Any = EntitySet(connect(), "Events", Key("event", "{At:ticks}"))
    first, second, *_ = moments
    for number, moment in enumerate(moments):
        events.insert({"At": moment, "Number": number})
    event = events.get(At=first)
    event["At"] = first
    results: list[object] = [events.replace(event)["Number"], events.merge(event, {"At": first, "Size": 1})["Size"]]
    event["At"] = second
    writes = (lambda: events.replace(event), lambda: events.merge(event, {"At": second}))
    results += map(_error_of, writes)
    low, high = sorted(moments, key=datetime.timestamp)[:2]
    results.append([each["Number"] for each in events.range(At=between(low, high))])
    return [*results, [each["Number"] for each in events.scan(prop("At") >= second)]]


def derived(moments: list[datetime]) -> list[object]:
    """Change the instant that an index, a list and a total are keyed by."""
    index = IntraPartitionIndex(Key("event", "at_{At:ticks}_{Number:04d}"))
    total = Summary(Key("event", "total_{At:ticks}"))
    names = IndexEntity("At", key=Key("event", "list_{At:ticks}"))
    events: Any = EntitySet(connect(), "Events", Key("event", "{Number:04d}"), derived=[index, names, total])
    event = events.insert({"Number": 1, "At": moments[0]})
    for moment in moments[1:]:
        event["At"] = moment
        event = events.replace(event)
    return [
        [
            len(list(events.range(index, At=moment))),
            len(events.find_all(names, At=moment)),
            events.totals(total, At=moment)["Count"],
        ]
        for moment in moments
    ]


def moved(moments: list[datetime]) -> list[object]:
    """Name the entities of a move by the fields of both keys."""
    storage = connect()
    old, new = (
        EntitySet(storage, "Old", Key("event", "{Number:04d}")),
        EntitySet(storage, "New", Key("x", "{At:ticks}")),
    )
    move = Rekey(old, new)
    for number, moment in enumerate(moments):
        move.entities.insert({"Number": number, "At": moment})
    move.copy()
    move.verify()
    results: list[object] = []
    for step in (lambda: None, move.cut_over):
        step()
        for moment in moments:
            found = [move.entities.get(Number=number, At=moment) for number in range(len(moments))]
            results.append([entity is not None for entity in found])
    return results


def logged(moments: list[datetime]) -> list[object]:
    log, periods = LogTail(connect(), "Events", "{Name}"), _hours()
    for number, moment in enumerate(moments):
        log.append({"Name": "log", "At": moment, "Number": number})
        periods.insert({"Name": "log", "At": moment, "Number": number})
    low, high = sorted(moments, key=datetime.timestamp)[:2]
    entries = [log.between(low, high, Name="log"), periods.range(low, high, Name="log")]
    return [[entry["Number"] for entry in each] for each in entries]


def _hours() -> Any:
    engine = Engine()
    key = Key("{Name}", "{At:ticks}")
    return PeriodTables(
        connect(engine), "Events", Period.HOUR, factory=lambda account, table: EntitySet(account, table, key)
    )


def kept(moments: list[datetime]) -> list[object]:
    lengths = (timedelta(hours=3), timedelta(days=1), timedelta(days=300), 2)
    return [
        Retention(period, length).first_kept(moment) for moment in moments for period in Period for length in lengths
    ]


def _error_of(call: Callable[[], object]) -> str:
    try:
        call()
    except BadKey as error:
        return type(error).__name__
    return "nothing"


@pytest.mark.parametrize("use", [keyed, derived, moved, logged, kept])
def test_an_instant_is_the_same_in_every_time_zone(use: Callable[[list[datetime]], list[object]]) -> None:
    @given(instants())
    def check(moments: list[datetime]) -> None:
        assert use(moments) == use(in_utc(moments))

    check()
