"""The page on errors: that of the package, which `tablepatterns help` prints too."""

from tablepatterns.cli.help import page as render

__all__ = ["PAGE", "render"]

PAGE = "docs/errors.md"
