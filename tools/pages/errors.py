"""The page on errors: the text of the package, which `tablepatterns help` also prints, with each error in one line."""

from __future__ import annotations

import re

from tablepatterns.cli import help as help_page

PAGE = "docs/errors.md"
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n    \.\.\.\n[\w.]+\.(?=\w+: )", re.MULTILINE)


def render() -> str:
    """Return the page."""
    return _TRACEBACK.sub("", help_page.page())
