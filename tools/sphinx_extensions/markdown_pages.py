"""Read what pages write in comments, so that the files can be read on GitHub as they are.

`<!-- toctree: Learn ... -->` lists the pages of a part of the menu. The reference between the markers of `make pages`
is Markdown with the first sentences of the docstrings; on the site, autodoc replaces it with all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tools.pages import api

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TOCTREE: Final = re.compile(r"^<!-- toctree:(.*)\n([^>]*)-->$", re.MULTILINE)
_REFERENCE: Final = re.compile(
    r"^<!-- make pages: (names|api)\s+([^>]*?)\s+-->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE
)
# Doctest needs the empty line, and readers see it as a gap in the box
_LAST_LINE_OF_CONSOLE: Final = re.compile(r"^(```pycon\n(?:(?!```).*\n)*?)\n(?=```$)", re.MULTILINE)


def site_text(text: str) -> str:
    """Return the text of a page as the site reads it."""
    return _LAST_LINE_OF_CONSOLE.sub(r"\1", _TOCTREE.sub(_toctree, _REFERENCE.sub(_directives, text)))


def _toctree(found: re.Match[str]) -> str:
    caption = [f":caption:{found[1]}"] if found[1] else []
    return "\n".join(["```{toctree}", ":hidden:", ":glob:", *caption, "", f"{found[2]}```"])


def _directives(found: re.Match[str]) -> str:
    if found[1] == "names":
        return api.as_directives(api.read_targets(found[2].split()))
    return "\n\n".join(f"## {title}\n\n{api.as_directives(targets)}" for title, targets in api.unlisted(found[2]))


def _read(_app: Sphinx, _page: str, source: list[str]) -> None:
    source[0] = site_text(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Change each page before it is parsed."""
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
