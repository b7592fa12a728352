"""Notebooks in JupyterLite, built as `make lite` does, and run by clicks in a browser."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Page
from tools.site import assets, lite

from notebooks.book import Book
from support.site import Requests

_SETTINGS = "jupyter-lite.json"
_SHOWN, _RUN = 120_000, 300_000
_READ = "() => jupyterapp.shell.currentWidget.content.model.toJSON().cells"
_ENDED = f"""() => {{
  const cells = ({_READ})().filter(cell => cell.cell_type == "code");
  const failed = cells.some(cell => cell.outputs.some(output => output.output_type == "error"));
  return failed || cells.every(cell => cell.execution_count);
}}"""


def build_lite(site: Path, plotting: Iterable[Path]) -> None:
    """Build the site of the notebooks from the wheels that are there.

    :param plotting: the wheels of pandas and matplotlib
    """
    assert lite.JUPYTER.exists(), "make test-nightly and make lite install JupyterLite"
    others = [path for path in assets.WHEELS.glob("*.whl") if path.name.partition("-")[0] not in lite.PLOTTING]
    lite.build(site, [*others, *plotting])
    # The application tells what its cells say; on the page, those out of sight are not there
    settings = json.loads((site / _SETTINGS).read_text("utf-8"))
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True
    (site / _SETTINGS).write_text(json.dumps(settings), "utf-8")


def downloaded() -> list[Path]:
    """Return the wheels of the packages with which notebooks read files and plot; none unless all are there."""
    found = [next(assets.WHEELS.glob(f"{name}-*.whl"), None) for name in lite.PLOTTING]
    return [path for path in found if path is not None] if None not in found else []


def substitutes(folder: Path) -> list[Path]:
    """Write wheels with as much of pandas and matplotlib as notebook 01 uses, for where they were not downloaded."""
    here = Path(__file__).parent / "plotting"
    found = []
    for name in lite.PLOTTING:
        path = folder / f"{name}-1-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for file in here.glob(f"{name}/*.py"):
                wheel.write(file, file.relative_to(here).as_posix())
            wheel.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        found.append(path)
    return found


class LiteNotebook:
    """A notebook that a reader opens from its page.

    :param page: a page of the browser
    :param site: the URL of the built site
    :param name: the notebook's name without a suffix
    """

    def __init__(self, page: Page, site: str, name: str) -> None:
        self.page = page
        self.requests = Requests(page, site)
        page.goto(f"{site}lab/index.html?path={name}.ipynb")
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=_SHOWN)
        self._choose("Edit", "Clear Outputs of All Cells")

    def run(self) -> list[Any]:
        """Run all cells, to the last or to one that fails, and return the cells of code."""
        self._choose("Run", "Run All Cells")
        self.page.wait_for_function(_ENDED, timeout=_RUN)
        return Book("", nbformat.from_dict({"cells": self.page.evaluate(_READ)})).code

    def _choose(self, menu: str, item: str) -> None:
        self.page.get_by_role("menuitem", name=menu, exact=True).click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()
