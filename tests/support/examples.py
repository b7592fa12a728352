"""How many examples of a property are drawn."""

from __future__ import annotations

from hypothesis import settings

EVERY_RUN, NIGHTLY = 30, 100
"""Of a hundred examples, so many are drawn in every run and with --nightly."""


def examples(count: int) -> settings:
    """Return the settings of a property of which a nightly run draws so many examples, and every run a part."""
    return settings(max_examples=count * settings.default.max_examples // NIGHTLY)
