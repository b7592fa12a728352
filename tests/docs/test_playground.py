"""The designs of the front page's playground, in CPython; test_in_chromium.py clicks through its story."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from typing import Any

import pytest
from tools.site.playground.play import DESIGNS, LEASE, SIDES, Playground
from tools.site.playground.process import KILL, LOSE, SEND

from support.page_programs import DOCS


async def state_after_crash(name: str, side: str, number: int) -> tuple[Playground, dict[str, Any]]:
    """Kill the first write of a design before one of its requests."""
    playground = Playground()
    await playground.choose(name)
    write = DESIGNS[name].writes[0]
    await playground.begin(write.method, write.fields)
    for _ in range(number):
        await playground.decide(side, SEND)
    return playground, await playground.decide(side, KILL)


async def problems_after_crashes(name: str, side: str) -> list[list[str]]:
    """Return what is inconsistent after a crash before each request, once a worker has done what is left to do."""
    found = []
    for number in range(50):
        playground, state = await state_after_crash(name, side, number)
        if state["sides"][side]["process"]["state"] != "killed":
            await playground.close()
            return found
        await playground.advance(LEASE)
        if side == "patterned" and DESIGNS[name].has_worker:
            await playground.work()
            state = await playground.decide(side, "finish")
        found.append(state["sides"][side]["problems"])
        await playground.close()
    raise AssertionError("the write never ends")


@pytest.mark.parametrize("name", DESIGNS)
def test_no_crash_leaves_a_pattern_inconsistent(name: str) -> None:
    assert set(map(tuple, asyncio.run(problems_after_crashes(name, "patterned")))) == {()}


@pytest.mark.parametrize("name", [name for name, design in DESIGNS.items() if design.has_worker])
def test_some_crash_leaves_plain_calls_inconsistent(name: str) -> None:
    assert any(asyncio.run(problems_after_crashes(name, "plain")))


@pytest.mark.parametrize("decision", [LOSE, "time out"])
def test_a_lost_response_repeats_the_entry_of_plain_calls_only(decision: str) -> None:
    async def story() -> dict[str, Any]:
        playground = Playground()
        await playground.choose("log")
        write = DESIGNS["log"].writes[0]
        await playground.begin(write.method, write.fields)
        for side in SIDES:
            await playground.decide(side, decision)
            state = await playground.decide(side, "finish")
        return state["sides"]

    sides = asyncio.run(story())
    assert sides["plain"]["problems"] == ["The entry 'GET /orders 500' was appended once, and is stored 2 times."]
    assert sides["patterned"]["problems"] == []


@pytest.mark.parametrize("name", DESIGNS)
def test_both_variants_answer_each_question(name: str) -> None:
    async def answers() -> list[Any]:
        playground, design = Playground(), DESIGNS[name]
        await playground.choose(name)
        for write in design.writes:
            await playground.begin(write.method, write.fields)
            for side in SIDES:
                state = await playground.decide(side, "finish")
                assert state["sides"][side]["process"]["state"] == "returned"
        found = []
        for read in design.reads:
            state = await playground.read(read.method, read.fields)
            found.append([state["sides"][side]["answer"] for side in SIDES])
        return found

    for plain, patterned in asyncio.run(answers()):
        assert "Error" not in plain["text"] + patterned["text"]
        assert (plain["text"] == "nothing") == (patterned["text"] == "nothing")
        assert re.match(r"\d+ requests?: \w+ query", patterned["cost"])


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.few(3)
def test_the_schedule_that_the_explorer_finds_can_be_stepped_in_both_variants(name: str) -> None:
    async def stories() -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
        playground = Playground()
        await playground.choose(name)
        schedules = {side: await playground.explore(side) for side in SIDES}
        return schedules, {
            side: [await playground.race_step(side, number) for number in range(schedules[side]["steps"] + 1)]
            for side in SIDES
        }

    schedules, stories_by_side = asyncio.run(stories())
    assert [schedules[side]["isConsistent"] for side in SIDES] == [False, True]
    for side, states in stories_by_side.items():
        assert states[-1]["problems"] == ([schedules["plain"]["text"]] if side == "plain" else [])
        assert [len(state["events"]) for state in states] == list(range(len(states)))
        assert len(states) > 1
        # What was shown to come next is what was sent
        for before, after in itertools.pairwise(states):
            assert after["events"][-1]["who"] == before["next"]
            assert without_ids(after["events"][-1]["text"]) == without_ids(before["waiting"][before["next"]])


def without_ids(text: str) -> str:
    """Return a request without what is random in its keys: each step begins from the start."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", text)


@pytest.mark.parametrize(
    "question", ['["close", []]', '["__init__", []]', '["begin", ["prepare", {}]]', '["read", ["insert", {}]]']
)
def test_a_link_calls_nothing_but_what_has_a_button(question: str) -> None:
    playground = Playground()
    with pytest.raises(ValueError, match="has no method"):
        asyncio.run(playground.answer(question))


def test_only_the_unique_index_keeps_an_email_from_a_second_employee() -> None:
    async def story() -> dict[str, Any]:
        playground = Playground()
        await playground.choose("employees")
        await playground.begin("insert", {"EmployeeId": 223, "Email": "ann@contoso.com"})
        for side in SIDES:
            state = await playground.decide(side, "finish")
        return state["sides"]

    sides = asyncio.run(story())
    assert sides["plain"]["problems"] == ["2 employees have the email ann@contoso.com, and it finds only one of them."]
    assert sides["patterned"]["problems"] == []
    assert sides["patterned"]["process"]["result"].startswith("DuplicateIndexValue: Email 'ann@contoso.com' is already")


def test_a_killed_process_sends_nothing_more() -> None:
    async def story() -> tuple[int, int]:
        playground, _ = await state_after_crash("employees", "patterned", 1)
        ledger = playground.sides["patterned"].engine.ledger
        before = len(ledger.records)
        await playground.decide("patterned", SEND)
        await asyncio.sleep(0)
        return before, len(ledger.records)

    before, after = asyncio.run(story())
    assert before == after


def test_all_that_the_page_gets_is_json() -> None:
    async def story() -> None:
        playground = Playground()
        assert [each["title"] for each in json.loads(await playground.answer('["designs", []]'))] == [
            design.title for design in DESIGNS.values()
        ]
        assert json.loads(await playground.answer('["choose", ["chat"]]'))["passed"] == 0

    asyncio.run(story())


@pytest.mark.parametrize("name", DESIGNS)
def test_each_design_leads_to_the_page_of_its_pattern(name: str) -> None:
    page = DOCS / f"{DESIGNS[name].page}.md"
    assert page.read_text("utf-8").startswith(f"# {DESIGNS[name].pattern}\n")
