"""The stories of the front page say what the recorded accounts show; test_in_chromium.py plays them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from tools.site.playground.play import Playground
from tools.site.story.page import STORIES, render
from tools.site.story.recording import Frame, record_crash, record_race


@pytest.fixture(scope="module")
def crash() -> list[Frame]:
    return [frame for act in asyncio.run(record_crash()) for frame in act.frames]


@pytest.fixture(scope="module")
def race() -> list[Frame]:
    return [frame for act in asyncio.run(record_race()) for frame in act.frames]


def test_a_crash_stays_without_the_library_and_is_repaired_with_it(crash: list[Frame]) -> None:
    killed, repaired = crash[2], crash[-1]
    for side in ("plain", "patterned"):
        assert killed.sides[side]["process"]["state"] == "killed"
        assert killed.sides[side]["answer"]["text"] == "nothing"
        assert len(killed.sides[side]["problems"]) == 2
    assert "nothing will repair this" in killed.sides["plain"]["repair"]
    assert "within 60 seconds" in killed.sides["patterned"]["repair"]
    assert repaired.sides["plain"]["answer"]["text"] == "nothing"
    assert repaired.sides["plain"]["problems"] == killed.sides["plain"]["problems"]
    assert "EmployeeId=152" in repaired.sides["patterned"]["answer"]["text"]
    assert repaired.sides["patterned"]["problems"] == []


@pytest.mark.parametrize(
    ("number", "requests"),
    [
        (0, ["send a message"]),
        (3, ["receive messages"]),
        (4, ["get Employees('empid', '000152')", "get Employees('email', 'annie", "replace Employees('email', 'annie"]),
        (5, ["delete Employees('email', 'ann@", "get Employees('empid', '000152')", "delete the message"]),
    ],
)
def test_each_event_names_the_requests_that_were_sent(crash: list[Frame], number: int, requests: list[str]) -> None:
    events = [event["text"] for event in crash[number].sides["patterned"]["process"]["events"]]
    for event, request in zip(events[-len(requests) :], requests, strict=True):
        assert event.startswith(request)


def test_only_the_etag_keeps_both_changes(race: list[Frame]) -> None:
    assert counts(race) == [("10", "10"), ("10", "10"), ("15", "15"), ("7", "15"), ("7", "12")]
    assert race[-1].sides["plain"]["problems"] == [
        "2 bookings were accepted, and the stock contains 1: an update is lost."
    ]
    assert race[-1].sides["patterned"]["problems"] == []
    assert race[3].sides["patterned"]["events"][-1]["outcome"] == "412"


def counts(frames: list[Frame]) -> list[tuple[str, ...]]:
    """Return the count that each side has stored after each event."""
    return [tuple(re.findall(r"Count=(\d+)", str(frame.sides))) for frame in frames]


def test_the_playground_opens_in_the_state_of_each_frame(crash: list[Frame]) -> None:
    async def replayed(frame: Frame) -> dict[str, Any]:
        playground = Playground()
        for method, *arguments in frame.calls:
            await getattr(playground, method)(*arguments)
        sides: dict[str, Any] = playground.state()["sides"]
        await playground.close()
        return sides

    for frame in (crash[0], crash[2], crash[-1]):
        assert asyncio.run(replayed(frame)) == frame.sides


@pytest.mark.parametrize("name", STORIES)
def test_without_scripts_the_last_frame_is_visible(name: str) -> None:
    html = render(name, 12)
    frames = re.findall(r'<div class="tp-frame"[^>]*>', html)
    assert [" hidden" in frame for frame in frames] == [*[True] * (len(frames) - 1), False]
    assert html.count('<p class="tp-buttons" hidden>') == 1
