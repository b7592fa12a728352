"""Notebooks in JupyterLite, in Chromium: they print there what is saved with them, and ask no other host.

With pandas and matplotlib, as before the site is published, this runs every notebook, and compares every output. Where
they cannot be downloaded, it runs notebook 01 with substitutes for the two, and compares what they have no part in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from notebooks.book import Book, books
from support.browser import chromium
from support.lite import LiteNotebook, build_lite, has_plotting, substitutes
from support.site import serve

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
FIRST = "01_intra_partition_index"
with_plotting = pytest.mark.skipif(not has_plotting(), reason="pandas and matplotlib were not downloaded: make lite")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the site, with the packages that were downloaded."""
    site = tmp_path_factory.mktemp("lite")
    build_lite(site)
    with serve(site) as url:
        yield url


@with_plotting
@pytest.mark.parametrize("path", books(), ids=lambda path: path.stem)
def test_a_notebook_says_what_is_saved_with_it(path: Path, lite: str, browser: Browser) -> None:
    notebook = LiteNotebook(browser.new_context().new_page(), lite, path.stem)
    for saved, cell in zip(Book.read(path).code, notebook.run(), strict=True):
        assert printed(cell.outputs) == printed(saved.outputs), cell.source
        assert [kinds(output) for output in cell.outputs] == [kinds(output) for output in saved.outputs], cell.source
    assert notebook.requests.elsewhere == []


def test_cells_without_pandas_and_matplotlib_say_what_is_saved_with_them(tmp_path: Path, browser: Browser) -> None:
    site = tmp_path / "site"
    build_lite(site, [] if has_plotting() else substitutes(tmp_path))
    saved = Book.read(next(path for path in books() if path.stem == FIRST))
    with serve(site) as url:
        notebook = LiteNotebook(browser.new_context().new_page(), url, FIRST)
        cells = notebook.run()
        assert [printed(cell.outputs) for cell in cells] == [printed(cell.outputs) for cell in saved.code]
        assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
        assert notebook.requests.elsewhere == []


@pytest.mark.skipif(has_plotting(), reason="they were downloaded")
def test_without_pandas_the_first_cell_says_what_is_missing(lite: str, browser: Browser) -> None:
    cells = LiteNotebook(browser.new_context().new_page(), lite, FIRST).run()
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
    return "".join(found)


def kinds(output: dict[str, object]) -> set[str]:
    data = output.get("data")
    return set(data) if isinstance(data, dict) else {str(output["output_type"])}
