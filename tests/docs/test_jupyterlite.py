"""Notebooks in JupyterLite, in Chromium: they print there what is saved with them, and ask no other host.

With pandas and matplotlib, as before the site is published, this runs every notebook, and compares every output. Where
they cannot be downloaded, it runs notebook 01 with substitutes for the two, and compares what they have no part in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tools.site import lite

from notebooks.book import Book, books
from support.browser import chromium
from support.lite import LiteNotebook, build_lite, downloaded, substitutes
from support.site import serve

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
FIRST = next(path for path in books() if path.stem == "01_intra_partition_index")
IN_THE_BROWSER = [path for path in books() if path.stem not in lite.LEFT_OUT]
PLOTTING = downloaded()
Sites = Callable[[list[Path]], str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """Build and serve a site with wheels of pandas and matplotlib, and return its URL."""
    with ExitStack() as stack:

        @cache
        def site(*plotting: Path) -> str:
            folder = tmp_path_factory.mktemp("lite")
            build_lite(folder, plotting)
            return stack.enter_context(serve(folder))

        yield lambda plotting: site(*plotting)


@pytest.mark.parametrize("path", IN_THE_BROWSER if PLOTTING else [FIRST], ids=lambda path: path.stem)
def test_a_notebook_says_what_is_saved_with_it(path: Path, built: Sites, browser: Browser, tmp_path: Path) -> None:
    url = built(PLOTTING or substitutes(tmp_path))
    notebook = LiteNotebook(browser.new_context().new_page(), url, path.stem)
    saved, cells = Book.read(path).code, notebook.run()
    assert [printed(cell.outputs) for cell in cells] == [printed(cell.outputs) for cell in saved]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    if PLOTTING:
        assert [[*map(kinds, cell.outputs)] for cell in cells] == [[*map(kinds, cell.outputs)] for cell in saved]
    assert notebook.requests.elsewhere == []


def test_without_pandas_the_first_cell_says_what_is_missing(built: Sites, browser: Browser) -> None:
    cells = LiteNotebook(browser.new_context().new_page(), built([]), FIRST.stem).run()
    (error,) = cells[0].outputs
    assert "ModuleNotFoundError" in error.ename
    assert "This build of the site lacks matplotlib" in error.evalue
    assert all(cell.outputs == [] for cell in cells[1:])


def printed(outputs: list[dict[str, object]]) -> str:
    """Return what a cell printed, and its result unless that is a table or a picture."""
    found = [str(output["text"]) for output in outputs if output["output_type"] == "stream"]
    for output in outputs:
        data = output.get("data")
        if isinstance(data, dict) and output["output_type"] == "execute_result" and data.keys() == {"text/plain"}:
            found.append(str(data["text/plain"]))
    # Kernels name the source of a cell differently in tracebacks
    return re.sub(r"\bat \S+:(\d+) in ", r"at cell:\1 in ", "".join(found))


def kinds(output: dict[str, object]) -> set[str]:
    data = output.get("data")
    return set(data) if isinstance(data, dict) else {str(output["output_type"])}
