"""The pages of notebooks: every cell and every output, and links that lead to pages."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from tools.site import assets, lite
from tools.sphinx_extensions.notebook_pages import NOTEBOOKS, page_of


def page(folder: Path, *cells: object) -> str:
    path = folder / "01_one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return "\n\n".join(page_of(path, folder))


def code(source: str, *outputs: object) -> object:
    return nbformat.v4.new_code_cell(source, outputs=list(outputs))


def test_cells_are_shown_with_their_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "LITE", tmp_path / "none")
    data = {"text/plain": "a frame", "text/html": "<table>\n\n<tr></tr></table>"}
    text = page(
        tmp_path,
        nbformat.v4.new_markdown_cell("# One\n\nWhy."),
        code(
            "print('```')",
            nbformat.v4.new_output("stream", text="```\n"),
            nbformat.v4.new_output("execute_result", data=data),
            nbformat.v4.new_output("execute_result", data={"text/plain": "3"}),
            nbformat.v4.new_output("display_data", data={"image/png": "aGVsbG8=", "text/plain": "a plot"}),
        ),
    )
    assert text.startswith("# One\n\nThis is the notebook `01_one.ipynb`")
    assert "````python\nprint('```')\n````\n\n````text\n```\n````" in text
    assert '<div class="table-wrapper">\n<table>\n<tr></tr></table>\n</div>' in text
    assert "```text\n3\n```" in text
    assert text.endswith("![The plot of this cell](01_one-1-3.png)")
    assert (tmp_path / "01_one-1-3.png").read_bytes() == b"hello"


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[two](02_two.ipynb)", "[two](02_two.md)"),
        ("[all](README.md#run-one)", "[all](index.md#run-one)"),
        ("[review](../docs/review.md#how)", "[review](../review.md#how)"),
        ("[rules](WRITING.md)", "rules"),
        ("[guide](https://learn.microsoft.com)", "[guide](https://learn.microsoft.com)"),
    ],
)
def test_links_lead_to_pages(tmp_path: Path, link: str, shown: str) -> None:
    assert page(tmp_path, nbformat.v4.new_markdown_cell("# One"), nbformat.v4.new_markdown_cell(link)).endswith(shown)


def test_with_jupyterlite_a_page_leads_to_its_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "LITE", tmp_path)
    text = page(tmp_path, nbformat.v4.new_markdown_cell("# One"))
    assert '<a href="../lite/lab/index.html?path=01_one.ipynb">' in text


def test_a_notebook_that_the_site_leaves_out_has_no_such_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "LITE", tmp_path)
    assert sorted(lite.LEFT_OUT) == ["30_export"]
    for name in lite.LEFT_OUT:
        assert "../lite/" not in "\n".join(page_of(NOTEBOOKS / f"{name}.ipynb", tmp_path))


def test_the_notebooks_that_the_site_leaves_out_import_what_it_does_not_have() -> None:
    importing = {path.stem for path in NOTEBOOKS.glob("*.ipynb") if "import duckdb" in path.read_text("utf-8")}
    assert importing == lite.LEFT_OUT


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_code_of_a_notebook_is_left_out(path: Path, tmp_path: Path) -> None:
    text = "\n\n".join(page_of(path, tmp_path))
    cells = nbformat.read(path, as_version=4).cells
    assert [cell.source for cell in cells if cell.cell_type == "code" and cell.source.rstrip() not in text] == []


# What a notebook imports, itself or through the library, that is not part of the library's own archive
IMPORTED = {
    "cryptography": r"\bEncryptedProperties\b",
    "matplotlib": r"^import matplotlib",
    "pandas": r"^import pandas",
    "pydantic": r"^from tablepatterns_review\b",
}


def packages_of(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    helpers = (NOTEBOOKS / "notebook_helpers.py").read_text("utf-8")
    code = "\n".join([helpers, *(cell.source for cell in cells if cell.cell_type == "code")])
    return ", ".join(name for name, pattern in IMPORTED.items() if re.search(pattern, code, re.MULTILINE))


def test_the_page_on_the_browser_names_the_packages_of_each_notebook() -> None:
    text = (NOTEBOOKS.parent / "docs" / "in-your-browser.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (\d\d|all others)\b.*? \| (.+) \|$", text, re.MULTILINE))
    needed = {path.stem[:2]: packages_of(path) for path in NOTEBOOKS.glob("*.ipynb") if path.stem not in lite.LEFT_OUT}
    assert needed == {number: rows.get(number, rows["all others"]) for number in needed}
    assert rows.keys() - {"all others"} == {number for number in needed if needed[number] != rows["all others"]}
