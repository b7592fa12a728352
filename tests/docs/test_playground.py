"""The playground of the front page: its designs in CPython, and its story clicked through in a browser."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tools.site.playground.play import DESIGNS, LEASE, SIDES, Playground
from tools.site.playground.process import KILL, LOSE, SEND

from support.browser import chromium
from support.page_programs import DOCS
from support.site import Requests, build, serve

FIRST = 120_000


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
def test_the_schedule_that_the_explorer_finds_can_be_stepped(name: str) -> None:
    async def story() -> list[dict[str, Any]]:
        playground = Playground()
        await playground.choose(name)
        assert playground.explore("patterned")["steps"] == 0
        found = playground.explore("plain")
        states = [await playground.race_step(number) for number in range(found["steps"] + 1)]
        assert states[-1]["problems"] == [found["text"]]
        return states

    states = asyncio.run(story())
    assert [len(state["events"]) for state in states] == list(range(len(states)))
    # What was shown to come next is what was sent
    for before, after in itertools.pairwise(states):
        assert after["events"][-1]["who"] == before["next"]
        assert after["events"][-1]["text"] == before["waiting"][before["next"]]


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


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a site with the front page's playground."""
    text = (DOCS / "index.md").read_text("utf-8")
    part = text[text.index("<!-- playground -->") : text.index("<!-- end -->") + len("<!-- end -->")]
    part = re.sub(r"\]\([^)]*\)", "](#top)", part)
    with serve(build(tmp_path_factory.mktemp("site"), {"index.md": f"(top)=\n# Site\n\n{part}\n"})) as url:
        yield url


def opened(page: Page, url: str) -> Page:
    requests = Requests(page, url)
    page.goto(url)
    assert requests.early == [], "nothing loads before the click"
    assert page.locator("img").count() == 0, "the picture is for readers without the site"
    page.get_by_role("button", name="Start the playground").click()
    page.locator(".tp-side").first.wait_for(timeout=FIRST)
    assert requests.elsewhere == []
    return page


@pytest.mark.browser
def test_the_story_of_a_killed_process(url: str) -> None:
    with chromium() as browser:
        page = opened(browser.new_page(viewport={"width": 400, "height": 800}), url)
        page.set_default_timeout(FIRST)
        plain, patterned = page.locator(".tp-side").all()
        page.get_by_role("button", name="Insert", exact=True).click()
        for side, before in ((plain, 1), (patterned, 2)):
            for number in range(before):
                expect(side.locator(".tp-process > ol > li")).to_have_count(number + 1)
                side.get_by_role("button", name="Send", exact=True).click()
            expect(side.locator(".tp-process > ol > li")).to_have_count(before + 1)
            # The keyboard stays where it was, though the buttons are new
            expect(side.get_by_role("button", name="Send", exact=True)).to_be_focused()
            side.get_by_role("button", name="Kill the process").press("Enter")
            expect(side.locator(".tp-killed")).to_have_count(1)
            expect(side.locator(".tp-problems")).to_contain_text("cannot be found by email")
        page.get_by_role("button", name="Move the clock").click()
        page.get_by_role("button", name="Run a worker").click()
        patterned.get_by_role("button", name="Send all").click()
        expect(patterned.locator(".tp-problems")).to_have_text("Consistent", timeout=FIRST)
        page.get_by_role("button", name="Find by email").click()
        expect(plain.locator(".tp-answer")).to_contain_text("nothing")
        expect(patterned.locator(".tp-answer")).to_contain_text("EmployeeId=223")
        # A phone scrolls the tables, not the page
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.get_by_label("Log").check()
        expect(page.locator(".tp-form")).to_contain_text("newest first")
        page.get_by_role("button", name="Explore", exact=True).click()
        expect(page.locator(".tp-race span.tp-good")).to_contain_text("Consistent in all", timeout=FIRST)
        for number in range(1, 4):
            page.get_by_role("button", name="Next request").click()
            expect(page.locator(".tp-race")).to_contain_text(f"{number} of 3 requests")
        expect(page.locator(".tp-race .tp-problems")).to_contain_text("stored 2 times")
        page.get_by_role("button", name="Back").click()
        expect(page.locator(".tp-race .tp-problems")).to_have_text("Consistent")
