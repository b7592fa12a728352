"""The Run buttons: a page's program runs in the reader's browser, and prints there what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tools.sphinx_extensions.run_button import program_of

from support.browser import chromium
from support.page_programs import DOCS
from support.site import Requests, build, serve

pytestmark = pytest.mark.browser
PAGES = sorted(
    page
    for page in (*DOCS.glob("*.md"), *DOCS.glob("patterns/*.md"))
    if "<!-- make pages: program -->" in page.read_text("utf-8")
)
OUTPUT = re.compile(r"^Output:\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_CRYPTOGRAPHY = {"encrypted_properties", "wide_entity"}
FIRST_RUN, LATER_RUN = 120_000, 60_000


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
        self.page.evaluate(
            """program => {
              const { editor } = document.querySelector("tp-run");
              editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: program } });
            }""",
            program,
        )

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
    """The URL of a site with one page."""
    page = DOCS / "patterns" / "intra_partition_index.md"
    program = program_of(page)
    pages = {
        page.name: "(top)=\n" + re.sub(r"\]\([^)]*\)", "](#top)", page.read_text("utf-8")),
        "index.md": f"# Site\n```{{toctree}}\n{page.stem}\n```\n",
        f"code/{program.name}": program.read_text("utf-8"),
    }
    with serve(build(tmp_path_factory.mktemp("site"), pages)) as url:
        yield f"{url}{page.stem}.html"


@pytest.fixture(scope="module")
def reader(site: str) -> Iterator[Reader]:
    """A reader who has run the page's own program."""
    with chromium() as browser:
        reader = Reader(browser.new_page(), site)
        assert reader.requests.early == [], "nothing loads before the click"
        reader.page.get_by_role("button", name="Run this program").click()
        assert reader.wait(FIRST_RUN) == "done", reader.error
        yield reader
        assert reader.requests.elsewhere == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_program_prints_what_its_page_says(reader: Reader, page: Path) -> None:
    state = reader.run(program_of(page).read_text("utf-8"))
    if page.stem in NEEDS_CRYPTOGRAPHY:
        assert (state, "encrypted properties need the package cryptography" in reader.error) == ("failed", True)
        return
    assert (state, reader.output) == ("done", "".join(OUTPUT.findall(page.read_text("utf-8")))), reader.output


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
    assert "the invariant does not hold in the end: a visit was lost" in reader.error
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
