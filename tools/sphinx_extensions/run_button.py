"""Add what runs in the reader's browser to pages: their programs, and the playground; see tools/site.

The pages are plain Markdown. Without the npm packages of tools/site, they have no button. Names of notebooks become
links to their pages.
"""

from __future__ import annotations

import ast
import doctest
import re
import shutil
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docutils import nodes

from tools.site import assets
from tools.site.story.page import STORIES, render

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MARK: Final = "<!-- make pages: program -->"
_BLOCK_MARK: Final = "<!-- run this in the browser -->"
_EXAMPLES_MARK: Final = "<!-- run the examples in the browser -->"
_NO_SCRIPT: Final = '<noscript><p class="tp-note">Running it here needs JavaScript.</p></noscript>'
_PLACES: Final = {
    "<!-- playground -->": "play",
    "<!-- explain in the browser -->": "explain",
    "<!-- review in the browser -->": "review",
    "<!-- crash story -->": "crash",
    "<!-- race story -->": "race",
}
"""The marks of fallback content, and what replaces it on the site."""
_END: Final = "<!-- end -->"
_EXAMPLE: Final = "reviews/employees_naive.toml"
_FOLDER: Final = "run"
_NOTEBOOK: Final = re.compile(r"notebooks/(\w*(?:\.ipynb)?)")


def program_of(page: Path) -> Path:
    """Return the path of a page's program."""
    return page.parent / "code" / f"{page.stem.replace('-', '_')}.py"


def script_of(transcript: str) -> str:
    """Return the statements of a console's transcript as a program that prints the values it shows."""
    return "".join(map(_statement, doctest.DocTestParser().get_examples(transcript)))


def _statement(example: doctest.Example) -> str:
    """Return a statement, in `print` if the console shows its value."""
    node = ast.parse(example.source).body[0]
    if not example.want or not isinstance(node, ast.Expr) or example.source.startswith("print("):
        return example.source
    shown = ast.get_source_segment(example.source, node.value) or ""
    return f"print(repr({f'({shown})' if isinstance(node.value, ast.Tuple) and shown[0] != '(' else shown}))\n"


def add_button(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Add a button after the link to the whole program, after a marked block, or after the examples of a page."""
    found = getattr(app, "run_button_assets", None)
    if found is None:
        return
    for mark in list(doctree.findall(nodes.raw)):
        text = mark.astext().strip()
        if text == _MARK:
            place = mark.next_node(nodes.paragraph, siblings=True)
            program = program_of(Path(app.srcdir, f"{name}.md")).read_text("utf-8")
        elif text == _BLOCK_MARK:
            place = mark.next_node(nodes.literal_block, siblings=True)
            program = place.astext() if place else ""
        elif text == _EXAMPLES_MARK:
            place = mark
            shown = [block for block in doctree.findall(nodes.literal_block) if block.get("language") == "pycon"]
            program = script_of("\n\n".join(block.astext() for block in shown))
        else:
            continue
        assert place is not None  # noqa: S101 - the page is ours
        html = (
            f'<tp-run id="run" hidden {_data("run", found)}><pre hidden>\n{escape(program, quote=False)}</pre></tp-run>'
        )
        place.parent.insert(place.parent.index(place) + 1, nodes.raw("", html + _NO_SCRIPT, format="html"))


def _data(kind: str, found: assets.Assets) -> str:
    """Return the data of the scripts, as attributes of an element."""
    data = f'data-kind="{kind}" data-library="{found.library}" data-pages="{found.pages}" data-size="{found.size}"'
    return data + (' data-cryptography="yes"' if found.has_cryptography else "")


def _element(kind: str, found: assets.Assets, app: Sphinx) -> str:
    data = _data(kind, found)
    if kind in STORIES:
        return render(kind, found.size)
    if kind == "play":
        return f'<tp-play id="playground-here" hidden {data}></tp-play>{_NO_SCRIPT}'
    if kind == "explain":
        return f"<tp-check hidden {data}></tp-check>{_NO_SCRIPT}"
    if not found.packages:
        return (
            "<p>This build of the site lacks pydantic, which reads design files: <code>make wheels</code> adds it.</p>"
        )
    design = escape(Path(app.srcdir, _EXAMPLE).read_text("utf-8"), quote=False)
    packages = f'data-packages="{" ".join(found.packages)}"'
    return f"<tp-check hidden {data} {packages}><pre hidden>\n{design}</pre></tp-check>{_NO_SCRIPT}"


def add_places(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Replace fallback content with what runs in the browser."""
    found = getattr(app, "run_button_assets", None)
    for mark in list(doctree.findall(nodes.raw)):
        kind = _PLACES.get(mark.astext().strip())
        if found is None or kind is None:
            continue
        parent = mark.parent
        first = parent.index(mark)
        last = next(at for at in range(first, len(parent)) if parent[at].astext().strip() == _END)
        parent[first : last + 1] = [nodes.raw("", _element(kind, found, app), format="html")]


def link_notebooks(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Turn names of notebooks, such as `notebooks/01_intra_partition_index.ipynb`, into links to their pages."""
    for literal in list(doctree.findall(nodes.literal)):
        found = _NOTEBOOK.fullmatch(literal.astext())
        page = found and f"notebooks/{found[1].removesuffix('.ipynb') or 'index'}"
        if page in app.env.found_docs and not isinstance(literal.parent, nodes.reference):
            uri = app.builder.get_relative_uri(name, page)
            link = nodes.reference("", "", internal=True, refuri=uri)
            literal.replace_self(link)
            link += literal


def write_assets(app: Sphinx) -> None:
    """Write the files that the buttons load."""
    if app.builder.format == "html" and assets.LITE.is_dir():
        shutil.copytree(assets.LITE, Path(app.outdir, "lite"), dirs_exist_ok=True)
    if app.builder.format == "html" and assets.are_installed():
        static = Path(app.outdir, "_static")
        app.run_button_assets = assets.write_assets(static / _FOLDER)  # type: ignore[attr-defined]
        app.add_css_file(f"{_FOLDER}/run.css")
        app.add_js_file(f"{_FOLDER}/run.js", type="module")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the buttons to the pages of a build."""
    app.connect("builder-inited", write_assets)
    app.connect("doctree-resolved", add_button)
    app.connect("doctree-resolved", add_places)
    app.connect("doctree-resolved", link_notebooks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
