"""Help: pages that come with the package, so that `tablepatterns help` prints them without a network."""

from .page import names, page, section

__all__ = ["names", "page", "section"]
