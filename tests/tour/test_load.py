"""Loading: a bar says how many entities there are, how many are loaded per second, and how long it takes still."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.progress import Progress

from tablepatterns.tour.load import COLUMNS


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
