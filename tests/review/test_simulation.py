"""The sample on the page: stored rows, requests, and crashes."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from review.detailed import design
from tablepatterns import connect
from tablepatterns.edm import ordinal
from tablepatterns_engine import Engine
from tablepatterns_review import Design, Write, read_design
from tablepatterns_review.design.model import Query
from tablepatterns_review.measure.measure import calls_of, with_implied_writes
from tablepatterns_review.result import Simulation, Walkthrough
from tablepatterns_review.simulation.consistency import consistency
from tablepatterns_review.simulation.simulate import simulate

FOLDER = Path(__file__).parents[2] / "docs" / "reviews"
NAMES = ("employees_improved", "log_prepend_append", "detailed")
AT_NIGHT = ("employees_naive", "flights")


@pytest.fixture(scope="module", params=[*NAMES, *(pytest.param(each, marks=pytest.mark.nightly) for each in AT_NIGHT)])
def declared(request: pytest.FixtureRequest) -> Design:
    return design() if request.param == "detailed" else read_design(FOLDER / f"{request.param}.toml")


@pytest.fixture(scope="module")
def simulation(declared: Design) -> Simulation:
    return detailed() if declared.name == design().name else simulate(declared)


@cache
def detailed() -> Simulation:
    """Return the simulation of the design with every kind of row, which tests share."""
    return simulate(design())


def call(found: Simulation, name: str) -> Walkthrough:
    return next(each for each in found.walkthroughs if each.access.name == name)


def test_the_same_design_gives_the_same_simulation() -> None:
    declared = read_design(FOLDER / "flights.toml")
    assert simulate(declared) == simulate(declared)


def test_rows_are_in_key_order_and_numbered(simulation: Simulation) -> None:
    rows = [row for table in simulation.tables for row in table.rows]
    assert [row.number for row in rows] == list(range(len(rows)))
    for table in simulation.tables:
        keys = [(ordinal(row.partition), ordinal(row.key)) for row in table.rows]
        assert keys == sorted(keys)


def test_every_row_matches_the_template_of_its_key(simulation: Simulation) -> None:
    rows = [row for table in simulation.tables for row in table.rows]
    assert [row for row in rows if row.kind == "part"] == []
    # An entity that the sample has is stored once
    stored = Counter(row.of for row in rows if row.kind == "primary" and row.stored)
    assert {name: stored[name] for name in simulation.entities} == dict(simulation.entities)


def test_every_access_pattern_is_carried_out_with_the_requests_that_were_measured(
    declared: Design, simulation: Simulation
) -> None:
    calls = calls_of(declared)
    assert [each.access.name for each in simulation.walkthroughs] == [each.access.name for each in calls]
    for measured, walk in zip(calls, simulation.walkthroughs, strict=True):
        if isinstance(walk.access, Write) and measured.requests == int(measured.requests):
            assert len(walk.steps) == measured.requests, walk.access.name
        worst = {step.query_class for step in walk.steps if step.query_class}
        is_sent = measured.via is None and measured.matching is None
        if isinstance(walk.access, Query) and measured.query_class and is_sent and not walk.access.take:
            assert measured.query_class.label in worst, walk.access.name


def test_rows_that_are_returned_were_read_and_reads_write_nothing(simulation: Simulation) -> None:
    for walk in simulation.walkthroughs:
        assert walk.rejected is None
        for step in walk.steps:
            assert set(step.returned) <= set(step.read)
        if isinstance(walk.access, Query):
            assert [step for step in walk.steps if step.written or step.crash] == []
        else:
            assert any(step.written for step in walk.steps), walk.access.name


def test_a_worker_completes_what_a_crash_leaves(simulation: Simulation) -> None:
    recovered = [step.recovery for walk in simulation.walkthroughs for step in walk.steps if step.recovery]
    expected = {"A worker completes the call.", "A worker finds that the call wrote nothing, and deletes the message."}
    assert {each for each in recovered if each.partition(";")[0].rstrip(".") + "." not in expected} == set()


def test_the_table_of_consistency_says_what_the_simulation_shows(declared: Design, simulation: Simulation) -> None:
    stated = {(one.of.name, one.access.name): one for one in consistency(calls_of(declared), simulation)}
    for walk in simulation.walkthroughs:
        if isinstance(walk.access, Write):
            partial = [step.crash for step in walk.steps if step.crash and not step.crash.startswith("No row has")]
            one = stated.get((walk.of.name, walk.access.name))
            assert (one is not None) is bool(partial), walk.access.name
            assert one is None or one.sees in partial


def test_the_crashes_of_a_write_with_an_index_elsewhere() -> None:
    found = detailed()
    steps = call(found, "new phone").steps
    assert [(step.request.split("(")[0].split(" ")[0], len(step.written)) for step in steps if step.written] == [
        ("transaction", 2),
        ("insert", 1),
        ("delete", 1),
    ]
    first = next(at for at, step in enumerate(steps) if step.written)
    waits = "1 message is in the queue employees-intents."
    assert str(steps[first].crash).startswith(f"2 of 4 rows have changed. {waits}")
    assert steps[first].recovery == "A worker completes the call."
    assert str(steps[first - 1].crash).startswith(f"No row has changed. {waits}")
    assert str(steps[first - 1].recovery).startswith(
        "A worker finds that the call wrote nothing, and deletes the message"
    )


def test_the_requests_of_a_query_name_the_rows_that_the_service_reads() -> None:
    found = detailed()
    rows = {row.number: row for table in found.tables for row in table.rows}
    steps = call(found, "employees by last name").steps
    assert [rows[number].kind for number in steps[0].read] == ["list"]
    assert {rows[number].kind for step in steps[1:] for number in step.read} == {"primary"}
    scan = call(found, "employees with a photo").steps[0]
    assert len(scan.read) > 1


def test_a_row_that_will_change_again_is_in_an_intermediate_state() -> None:
    found = detailed()
    crashes = [step.crash for step in call(found, "transfer").steps]
    assert "0 of 10 rows have changed. 2 rows are in an intermediate state. " in " | ".join(map(str, crashes))


def test_a_worker_completes_the_move_of_an_archive_after_each_crash() -> None:
    found = detailed()
    walks = [each for each in found.walkthroughs if each.access.name.startswith("archive to ")]
    assert [(each.rejected, len(each.steps)) for each in walks] == [(None, 14), (None, 6)]
    for each in walks:
        *before, last = each.steps
        assert {step.recovery for step in before} == {"A worker completes the call."}
        assert all("-archive." in (step.crash or "") for step in before)
        assert (last.crash, last.request.split(" ")[0]) == (None, "DeleteMessage")


def test_the_deletion_of_a_retention_is_carried_out() -> None:
    declared = read_design(FOLDER / "log_prepend_append.toml")
    steps = simulate(declared).walkthroughs[-1].steps
    assert [step.request.split(" ")[0] for step in steps] == ["QueryTables", "delete"]
    assert with_implied_writes(declared).sets[0].writes[-1].name == "retention of 14 days"


def test_nothing_is_sent_to_another_account() -> None:
    engine = Engine()
    with connect(engine):
        simulate(read_design(FOLDER / "employees_improved.toml"))
    assert engine.ledger.totals.requests == 0
