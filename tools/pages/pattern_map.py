"""The pattern map, from the catalogue."""

from __future__ import annotations

from tablepatterns.catalogue.pattern_map import pattern_map

PAGE = "docs/pattern_map.svg"


def render() -> str:
    """Return the map as SVG."""
    return pattern_map()
