"""The page on errors: the text of the package, which `tablepatterns help` also prints."""

from tablepatterns.cli.help import page as render

__all__ = ["PAGE", "render"]

PAGE = "docs/errors.md"
