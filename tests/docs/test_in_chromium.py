"""Pages in Chromium: programs print there what their pages say, and the forms and the playground answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tools.sphinx_extensions.run_button import program_of

from support.browser import chromium
from support.page_programs import DOCS, SMALL_DESIGN
from support.site import Requests, build, serve

pytestmark = [pytest.mark.browser, pytest.mark.node]
PAGES = sorted(
    page
    for page in (*DOCS.glob("*.md"), *DOCS.glob("patterns/*.md"))
    if "<!-- make pages: program -->" in page.read_text("utf-8")
)
OUTPUT = re.compile(r"^Output:\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_EVERY_RUN = ("encrypted_properties", "eventual_transaction", "large_properties")
"""They need a package, queues and blobs; in CPython, where no thread can start, all programs run in every run."""
NEEDS_CRYPTOGRAPHY = "encrypted properties need the package cryptography"
NEEDS_PACKAGE = {"encrypted_properties": NEEDS_CRYPTOGRAPHY, "models": NEEDS_CRYPTOGRAPHY}
"""The errors of programs that need a package which the site of the tests does not have."""
DECLARED = re.compile(r"^ *# -- (.+) \((.+)\)$", re.MULTILINE)
"""A step with the package that it needs, at which the program ends."""
FIRST_RUN, LATER_RUN = 120_000, 60_000
WRITTEN = """program => {
  const { editor } = document.querySelector("tp-run");
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: program } });
}"""
SIDES_OF_STORY = (".tp-side:first-child", ".tp-side:last-child")


class Reader:
    """A reader of one page, whose programs they run one after the other."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.requests = Requests(page, url.rpartition("/")[0])
        page.goto(url)

    @property
    def state(self) -> str | None:
        return self.page.locator("tp-run").get_attribute("data-state")

    @property
    def output(self) -> str:
        return self.page.locator("tp-run .tp-out").evaluate(
            "out => [...out.childNodes].filter(each => each.nodeName == '#text').map(each => each.data).join('')"
        )

    @property
    def error(self) -> str:
        return self.page.locator("tp-run .tp-error").inner_text()

    def write(self, program: str) -> None:
        self.page.evaluate(WRITTEN, program)

    def wait(self, timeout: float = LATER_RUN) -> str | None:
        self.page.wait_for_function(
            "() => ['done', 'failed', 'stopped'].includes(document.querySelector('tp-run').dataset.state)",
            timeout=timeout,
        )
        return self.state

    def run(self, program: str, timeout: float = LATER_RUN) -> str | None:
        self.write(program)
        self.page.get_by_role("button", name="Run", exact=True).click()
        return self.wait(timeout)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a site with a page that has a program and both forms, and one that has the playground.

    Python and the library are loaded once for each.
    """
    page = DOCS / "patterns" / "intra_partition_index.md"
    program = program_of(page)
    home = (DOCS / "index.md").read_text("utf-8")
    story, race, playground = re.findall(
        r"<!-- (?:crash story|race story|playground) -->.*?<!-- end -->", home, re.DOTALL
    )
    forms = "".join(f"<!-- {name} in the browser -->\n\n<!-- end -->\n\n" for name in ("explain", "review"))
    pages = {
        page.name: without_links("program", f"{page.read_text('utf-8')}\n\n## Forms\n\n{forms}"),
        "playground.md": without_links("playground", f"# Playground\n\n{story}\n\n{race}\n\n{playground}\n"),
        "reviews/employees_naive.toml": SMALL_DESIGN,
        f"code/{program.name}": program.read_text("utf-8"),
        "index.md": "# Site\n```{toctree}\n:glob:\n*\n*/*\n```\n",
        "notebooks/animals.md": "# Animals\n\nThe quagga is like a zebra.\n",
        "api/reference.md": "# Reference\n\nThe quagga is like a zebra.\n",
        "quokkas.md": "# Quokkas\n\nThe quagga is like a zebra.\n",
        "questions.md": "# How do I\n\nThe quagga is like a zebra.\n",
    }
    with serve(build(tmp_path_factory.mktemp("site"), pages)) as url:
        yield url


def without_links(name: str, text: str) -> str:
    """Return a page whose links lead to its own beginning."""
    return f"({name}-top)=\n" + re.sub(r"\]\([^)]*\)", f"](#{name}-top)", text)


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    """A browser with one cache for all pages, as narrow as a phone."""
    with chromium() as browser:
        yield browser.new_context(viewport={"width": 400, "height": 800})


@pytest.fixture(scope="module")
def reader(site: str, browser: BrowserContext) -> Iterator[Reader]:
    """A reader who has run the page's own program."""
    reader = Reader(browser.new_page(), f"{site}intra_partition_index.html")
    assert reader.requests.early == [], "nothing loads before the click"
    reader.page.get_by_role("button", name="Run this program").click()
    assert reader.wait(FIRST_RUN) == "done", reader.error
    yield reader
    assert reader.requests.elsewhere == []


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[] if page.stem in IN_EVERY_RUN else [pytest.mark.nightly]) for page in PAGES],
    ids=[page.stem for page in PAGES],
)
def test_a_program_prints_what_its_page_says(reader: Reader, page: Path) -> None:
    program = program_of(page).read_text("utf-8")
    state = reader.run(program)
    output = "".join(OUTPUT.findall(page.read_text("utf-8")))
    if page.stem in NEEDS_PACKAGE:
        assert state == "failed"
        assert NEEDS_PACKAGE[page.stem] in reader.error
        assert output.startswith(reader.output)
        return
    if step := DECLARED.search(program):
        printed, sentence, rest = reader.output.partition(f"The step {step[1]!r} needs the package {step[2]}")
        assert (state, bool(sentence), output.startswith(printed)) == ("done", True, True), rest
        return
    assert (state, reader.output) == ("done", output), reader.output


def test_the_rows_of_each_step_are_shown_in_key_order(reader: Reader) -> None:
    assert reader.run(program_of(DOCS / "patterns" / "intra_partition_index.md").read_text("utf-8")) == "done"
    steps = reader.page.locator("tp-run .tp-step")
    assert steps.locator("summary").all_inner_texts()[0] == "write: 5 table transactions"
    last = steps.last.locator(".tp-rows tbody tr")
    keys = last.locator("td:nth-child(2)").all_inner_texts()
    assert keys == sorted(keys)
    assert len(set(last.locator("td:nth-child(2)").evaluate_all("cells => cells.map(cell => cell.className)"))) == 2
    assert steps.last.locator(".tp-legend span").all_inner_texts()[0] == "entities of 'Employees'"


def test_requests_are_shown_with_their_line_class_and_cost(reader: Reader) -> None:
    scan = (
        "def main(storage):\n    table = storage.tables.create_table('Staff')\n    print(list(table.list_entities()))\n"
    )
    assert reader.run(scan) == "done"
    row = reader.page.locator("tp-run .tp-requests tbody tr").last.locator("td").all_inner_texts()
    assert row == ["3", "QueryEntities", "Staff", "table scan", "1 table transaction"]


def test_an_error_shows_the_readers_own_lines_only(reader: Reader) -> None:
    program = (
        "from tablepatterns import Key\n\n\ndef main(storage):\n    print('before')\n    # -- fail\n    Key('{', 'a')\n"
    )
    assert (reader.run(program), reader.output) == ("failed", "before\n")
    assert re.findall(r'File "(.*)", line (\d+)', reader.error) == [("program.py", "7")]
    assert "Key('{', 'a')" in reader.error
    assert "BadDesign" in reader.error


def test_a_syntax_error_shows_its_line(reader: Reader) -> None:
    assert reader.run("x = 1\ny = = 2\n") == "failed"
    assert 'File "program.py", line 2' in reader.error


def test_async_programs_and_explored_schedules_run(reader: Reader) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / "exploring-schedules.md").read_text("utf-8"), re.M | re.S)
    assert reader.run(blocks[0]) == "failed"
    assert "final check failed: a visit was lost" in reader.error
    program = """
from tablepatterns import aio

async def main(storage):
    async with aio.connect() as account:
        print(account)
"""
    assert (reader.run(program), reader.output) == ("done", "<aio.Storage memory://>\n")


def test_keys_run_and_reset_restores_the_program(reader: Reader) -> None:
    own = program_of(DOCS / "patterns" / "intra_partition_index.md").read_text("utf-8")
    reader.write("print('by key')")
    reader.page.locator("tp-run .cm-content").press("Control+Enter")
    assert (reader.wait(), reader.output) == ("done", "by key\n")
    reader.page.get_by_role("button", name="Reset").click()
    assert reader.page.evaluate("document.querySelector('tp-run').editor.state.doc.toString()").strip() == own.strip()


def test_a_program_without_end_is_stopped_and_the_next_one_runs(reader: Reader) -> None:
    reader.write("print('endless')\nwhile True:\n    pass\n")
    reader.page.get_by_role("button", name="Run", exact=True).click()
    reader.page.locator("tp-run .tp-out").filter(has_text="endless").wait_for()
    reader.page.get_by_role("button", name="Stop").click()
    assert reader.state == "stopped"
    assert (reader.run("print('next')", FIRST_RUN), reader.output) == ("done", "next\n")


@pytest.mark.nightly
def test_a_link_shows_a_program_and_runs_it_only_when_the_reader_says_so(
    reader: Reader, site: str, browser: BrowserContext
) -> None:
    reader.write("print('from a colleague')")
    reader.page.get_by_role("button", name="Copy link").click()
    reader.page.wait_for_function("() => location.hash.startsWith('#program=')")
    link = reader.page.url
    for address, note in (
        (link, "not from this site"),
        (f"{link[:-4]}", "damaged"),
        (f"{site}intra_partition_index.html#program={'A' * 20_000}", "Loads Python"),
    ):
        page = browser.new_page()
        requests = Requests(page, site)
        page.goto(address)
        expect(page.locator("tp-run .tp-note")).to_contain_text(note)
        assert not [each for each in requests.early if "pyodide" in each], "a link runs nothing"
        if address == link:
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.locator("tp-run .tp-out")).to_contain_text("from a colleague", timeout=FIRST_RUN)
        page.close()


def test_the_keyboard_reaches_the_program_before_the_menu(site: str, browser: BrowserContext) -> None:
    page = browser.new_page()
    page.goto(f"{site}intra_partition_index.html")
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to what runs here")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Run this program")).to_be_focused()
    page.close()


def test_the_search_finds_pages_before_notebooks_and_the_reference(site: str, browser: BrowserContext) -> None:
    page = browser.new_page()
    page.goto(f"{site}search.html?q=quagga")
    results = page.locator("#search-results ul.search > li > a")
    expect(results).to_have_count(4)
    assert results.all_inner_texts() == ["How do I", "Quokkas", "Reference", "Animals"]
    page.close()


def test_both_forms_answer(reader: Reader) -> None:
    page = reader.page
    page.get_by_role("button", name="Explain a filter").click()
    expect(page.locator("tp-check .tp-out").first).to_contain_text("partition scan", timeout=FIRST_RUN)
    page.get_by_label("$filter").fill("Email qe 'jo'")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page.locator("tp-check .tp-out.tp-error")).to_contain_text("position 8")
    page.get_by_role("button", name="Review a design").click()
    expect(page.frame_locator(".tp-report").locator("h1")).to_have_text("Employees", timeout=FIRST_RUN)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_front_page_plays_a_crash_without_python(site: str, browser: BrowserContext) -> None:
    page = browser.new_page()
    requests = Requests(page, site)
    page.clock.install()
    page.goto(f"{site}playground.html")
    crash, race = page.locator("tp-story").all()
    event, plain, patterned = (crash.locator(f".tp-frame:visible {part}") for part in (".tp-event", *SIDES_OF_STORY))
    expect(event).to_contain_text("A year later")
    for button, verdicts in (
        ("Crash it", ("Inconsistent", "Inconsistent")),
        ("Repair it", ("Inconsistent", "Consistent")),
    ):
        crash.get_by_role("button", name=button).click()
        expect(crash.get_by_role("button", name=button)).to_be_disabled()
        page.clock.run_for(20_000)
        expect(crash.get_by_role("button", name=button)).to_be_enabled()
        expect(plain.locator(".tp-verdict")).to_have_text(verdicts[0])
        expect(patterned.locator(".tp-verdict")).to_have_text(verdicts[1])
    for count in (10, 10, 15, 7, 12):
        race.get_by_role("button", name="Next request").click()
        expect(race.locator(".tp-frame:visible")).to_contain_text(f"Count={count}")
    assert requests.early == [], "nothing loads before the click"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.close()


def test_a_story_is_printed_in_light_colors(site: str, browser: BrowserContext) -> None:
    page = browser.new_page()
    page.goto(f"{site}playground.html")
    event = page.locator(".tp-frame:visible .tp-event").first
    color = "event => getComputedStyle(event).backgroundColor"
    page.emulate_media(media="screen", color_scheme="light")
    light = event.evaluate(color)
    page.emulate_media(media="screen", color_scheme="dark")
    assert event.evaluate(color) != light
    page.emulate_media(media="print", color_scheme="dark")
    assert event.evaluate(color) == light
    page.close()


@pytest.fixture(scope="module")
def playground(site: str, browser: BrowserContext) -> Page:
    """A page with the playground in the state of the story: to load Python takes longer than all that follows."""
    page = browser.new_page()
    requests = Requests(page, site)
    page.goto(f"{site}playground.html")
    assert requests.early == [], "nothing loads before the click"
    assert page.locator("img").count() == 0, "the picture is for readers without the site"
    page.get_by_role("button", name="Change it yourself").click()
    expect(page.locator("tp-play .tp-side .tp-answer").last).to_contain_text("EmployeeId=152", timeout=FIRST_RUN)
    plain, patterned = page.locator("tp-play .tp-side").all()
    expect(plain.locator(".tp-repair")).to_contain_text("nothing will repair this")
    expect(patterned.locator("p.tp-problems")).to_have_text("Consistent")
    assert requests.elsewhere == []
    page.set_default_timeout(FIRST_RUN)
    return page


def test_the_story_of_a_killed_process(playground: Page) -> None:
    page = playground
    plain, patterned = page.locator("tp-play .tp-side").all()
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("tp-play .tp-answer")).to_have_count(0)
    page.get_by_role("button", name="Insert", exact=True).click()
    for side, before in ((plain, 1), (patterned, 3)):
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
    expect(patterned.locator(".tp-problems")).to_have_text("Consistent", timeout=FIRST_RUN)
    page.get_by_role("button", name="Find by email").click()
    expect(plain.locator(".tp-answer")).to_contain_text("nothing")
    expect(patterned.locator(".tp-answer")).to_contain_text("EmployeeId=223")
    # A phone scrolls the tables, not the page
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.get_by_label("Log").check()
    expect(page.locator(".tp-form")).to_contain_text("newest first")
    page.get_by_role("button", name="Explore", exact=True).click()
    expect(page.locator(".tp-race span.tp-good")).to_contain_text("Consistent in all", timeout=FIRST_RUN)
    plain, patterned = (page.locator(f".tp-race .tp-sides >> nth={number}") for number in (0, 1))
    expect(patterned).to_be_visible(timeout=FIRST_RUN)
    for number in range(1, 4):
        page.locator(".tp-race").get_by_role("button", name="Next request").first.click()
        expect(page.locator(".tp-race")).to_contain_text(f"{number} of 3 requests")
    expect(plain.locator(".tp-problems")).to_contain_text("stored 2 times")
    page.locator(".tp-race").get_by_role("button", name="Back").first.click()
    expect(plain.locator(".tp-problems")).to_have_text("Consistent")
    page.locator(".tp-race").get_by_role("button", name="Next request").last.click()
    expect(patterned.locator("ol > li")).to_have_count(1)


def test_a_step_that_is_taken_during_another_comes_after_it(playground: Page) -> None:
    calls = playground.evaluate("""async () => {
      const { playground } = document.querySelector("tp-play");
      await Promise.all([playground.choose(playground.designs[1]), playground.show("advance", 61)]);
      return playground.calls.map(([method]) => method);
    }""")
    assert calls == ["choose", "advance"]
    expect(playground.locator("tp-play output")).to_have_text("61 s")


@pytest.mark.nightly
def test_a_link_holds_the_steps_of_the_playground(playground: Page, browser: BrowserContext) -> None:
    playground.get_by_label("Chat").check()
    expect(playground.locator(".tp-form")).to_contain_text("Pattern: ", timeout=FIRST_RUN)
    playground.get_by_role("button", name="Move the clock").click()
    expect(playground.locator("tp-play output")).to_have_text("61 s", timeout=FIRST_RUN)
    playground.get_by_role("button", name="Copy link").click()
    playground.wait_for_function("() => location.hash.startsWith('#playground=')")
    page = browser.new_page()
    page.goto(playground.url)
    expect(page.locator("tp-play")).to_contain_text("They run when you start")
    page.get_by_role("button", name="Start the playground").click()
    expect(page.locator("tp-play output")).to_have_text("61 s", timeout=FIRST_RUN)
    expect(page.get_by_label("Chat")).to_be_checked()
    page.close()
