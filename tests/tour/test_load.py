"""Loading: the progress bar shows the number of entities, the rate, and the remaining time."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
from examples.tour.data import DAYS, Fields, Source
from examples.tour.design import Design
from examples.tour.load import COLUMNS, load
from examples.tour.questions import flight
from examples.tour.visit import visit
from rich.console import Console
from rich.progress import Progress

from tablepatterns import connect


def shown(completed: int, after: float) -> str:
    """Return the bar of 1,000 entities, some of which were loaded after so many seconds."""
    now = 0.0
    console = Console(file=StringIO(), width=140, force_terminal=True, color_system=None)
    bars = Progress(*COLUMNS, console=console, get_time=lambda: now, auto_refresh=False)
    task = bars.add_task("flights", total=1000)
    # A rate is that of the time between two steps
    bars.update(task, completed=1)
    now = after
    bars.update(task, completed=completed)
    with console.capture() as capture:
        console.print(bars.get_renderable())
    return capture.get()


def test_a_bar_shows_the_rate_and_the_time_left() -> None:
    text = shown(251, after=5)
    assert "251/1000" in text
    assert "50/s" in text
    assert "left: 0:00:15" in text


def test_a_bar_shows_no_rate_before_anything_is_loaded() -> None:
    text = shown(1, after=0)
    assert "/s" not in text
    assert "left: -:--:--" in text


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of twenty flights of each day, with that of the first question, and one of twenty airports, with its own."""
    read, read_airports = Source.flights, Source.airports

    def flights(self: Source, days: int = DAYS) -> Iterator[Fields]:
        return (each for number, each in enumerate(read(self, days)) if number % 20 == 0 or each["Number"] == 130)

    def airports(self: Source) -> Iterator[Fields]:
        return (each for number, each in enumerate(read_airports(self)) if number % 20 == 0 or each["Airport"] == "BUF")

    monkeypatch.setattr(Source, "flights", flights)
    monkeypatch.setattr(Source, "airports", airports)


@pytest.mark.usefixtures("few_rows")
def test_the_first_question_can_be_answered_when_a_day_is_loaded() -> None:
    storage = connect()
    design, answers, rows = Design.on(storage), [], []

    def ask() -> None:
        answers.append(flight(design))
        rows.append(storage.engine.ledger.totals.written if storage.engine else 0)

    load(Source.installed(), design, Console(quiet=True), 2, ask)
    assert answers == [flight(design)]
    assert answers[0].entities
    # The flights of the day, with their index, and nothing else
    assert rows == [2 * sum(each["Date"].day == 1 for each in Source.installed().flights(1))]


@pytest.mark.usefixtures("few_rows")
def test_the_first_answer_is_printed_before_the_other_days_are_loaded() -> None:
    console = Console(file=StringIO(), width=140, color_system=None)
    with console.capture() as capture:
        visit("memory://", console, days=2)
    first, rest = capture.get().split("JetBlue's flight 130 of 1 January: N281JB to BUF", 1)
    assert "flights of the first day" in first
    assert "flights, and their index by plane" not in first
    assert "flights, and their index by plane" in rest
