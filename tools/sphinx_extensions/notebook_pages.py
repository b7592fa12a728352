"""Write a page for each notebook with its saved outputs; nothing is executed.

The pages are in docs/notebooks, which is not in the repository: its readers use the notebooks themselves.
"""

from __future__ import annotations

import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbformat

from tools.site import assets, lite

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NOTEBOOKS: Final = Path(__file__).parents[2] / "notebooks"
FOLDER: Final = "notebooks"
_LINK: Final = re.compile(r"\[([^]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")
_TICKS: Final = re.compile(r"`{3,}")
_INDEX: Final = "\n```{toctree}\n:glob:\n:maxdepth: 1\n\n[0-9]*\n```\n"


def write_pages(app: Sphinx, _: object = None) -> None:
    """Write a page for each notebook, and one that lists them."""
    folder = Path(app.srcdir, FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        (folder / f"{path.stem}.md").write_text("\n\n".join(page_of(path, folder)) + "\n", "utf-8")
    readme = (NOTEBOOKS / "README.md").read_text("utf-8")
    (folder / "index.md").write_text(_linked(readme) + _INDEX, "utf-8")


def page_of(path: Path, folder: Path) -> Iterator[str]:
    """Yield the parts of a notebook's page, and write its pictures to the folder."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            title, _, rest = _linked(cell.source).partition("\n")
            yield "\n\n".join([title, _open(path), rest]) if number == 0 else f"{title}\n{rest}".rstrip()
        elif cell.cell_type == "code":
            yield _fenced(cell.source, "python")
            for place, output in enumerate(cell.outputs):
                yield from _shown(output, folder / f"{path.stem}-{number}-{place}.png")


def _open(path: Path) -> str:
    """Return the line that links the notebook."""
    if not assets.LITE.is_dir() or path.stem in lite.LEFT_OUT:
        return f"This is the notebook `{path.name}`, with its saved outputs."
    url = f"../lite/lab/index.html?path={path.name}"
    return f'<p><a href="{url}">Run this notebook in your browser</a>. Below are its saved outputs.</p>'


def _shown(output: Any, picture: Path) -> Iterator[str]:
    if output.output_type == "stream":
        yield _fenced(output.text, "text")
    elif output.output_type == "error":
        yield _fenced(f"{output.ename}: {output.evalue}", "text")
    elif "image/png" in output.data:
        picture.write_bytes(b64decode(output.data["image/png"]))
        yield f"![The plot of this cell]({picture.name})"
    elif "text/html" in output.data:
        # A blank line would end the block
        lines = [line for line in output.data["text/html"].splitlines() if line.strip()]
        yield "\n".join(['<div class="table-wrapper">', *lines, "</div>"])
    else:
        yield _fenced(output.data["text/plain"], "text")


def _fenced(text: str, language: str) -> str:
    ticks = max([2, *map(len, _TICKS.findall(text))]) + 1
    return f"{'`' * ticks}{language}\n{text.rstrip()}\n{'`' * ticks}"


def _linked(text: str) -> str:
    """Return a text with its links changed to pages: notebooks are in the same folder, others in the parent."""

    def page(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if target.startswith("../docs/"):
            return f"[{words}](../{target.removeprefix('../docs/')}{anchor})"
        if target == "README.md" or target.endswith(".ipynb"):
            return f"[{words}]({target.replace('README.md', 'index.md').replace('.ipynb', '.md')}{anchor})"
        # A file that is only in the repository
        return words

    return _LINK.sub(page, text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before the sources are read."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
