"""Build the whole site without what no test looks at: `python -m support.bare_site FOLDER`.

The menus of the theme have no text of ours, and the search index takes as long as all other output together. Code is
parsed, because a warning may be about it, but not colored; quotation marks are typographic only on the real site; and
what programs load in the browser is tested there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

from pygments.formatter import Formatter
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

from support.page_programs import DOCS


class Plain(Formatter[str]):
    """Code as it is."""

    def format(self, tokensource: Iterable[tuple[Any, str]], outfile: TextIO) -> None:
        outfile.write(f"<pre>{escape(''.join(text for _, text in tokensource))}</pre>")


def build(folder: Path) -> int:
    """Build the site in a folder, and return the exit status: a warning is an error."""
    settings = {"html_theme": "basic", "smartquotes": False}
    PygmentsBridge.html_formatter = Plain  # type: ignore[assignment]
    with mock.patch("tools.site.assets.are_installed", return_value=False):
        site = Sphinx(
            DOCS,
            DOCS,
            folder / "site",
            folder / "read",
            "html",
            confoverrides=settings,
            status=None,
            freshenv=True,
            warningiserror=True,
        )
    site.builder.search = False  # type: ignore[attr-defined]
    site.build()
    return site.statuscode


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
