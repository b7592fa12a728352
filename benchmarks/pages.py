"""Write the pages and the plot of the parts that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .recipes.report import report as report_on_recipes
from .report import report
from .results import Results, read, read_recipes, read_year
from .serve import read_serve
from .serve import report as report_on_serve


def write_pages(folder: Path) -> Iterator[str]:
    """Write the pages of the results in a folder, and return their text."""
    tables, objects = _read(folder / "tables.json"), _read(folder / "objects.json")
    if tables:
        # Imported late, since it loads matplotlib
        from .plot import plot

        plot(tables, folder / "speed.png")
    if tables or objects:
        yield _written(folder / "results.md", report(tables, objects))
    if (serve := folder / "serve.json").exists():
        yield _written(folder / "serve.md", report_on_serve(read_serve(serve)))
    recipes, year = folder / "recipes.json", folder / "year.json"
    if recipes.exists():
        text = report_on_recipes(read_recipes(recipes), read_year(year) if year.exists() else None)
        yield _written(folder / "recipes.md", text)


def _read(path: Path) -> Results | None:
    return read(path) if path.exists() else None


def _written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return text
