"""Build the whole site without what no test looks at: `python -m support.bare_site FOLDER`.

The menus of the theme have no text of ours, and the search index takes as long as all other output together. Quotation
marks are typographic only on the real site.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

from support.page_programs import DOCS


def build(folder: Path) -> int:
    """Build the site in a folder, and return the exit status: a warning is an error."""
    settings = {"html_theme": "basic", "smartquotes": False}
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
