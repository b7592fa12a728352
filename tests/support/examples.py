"""The number of examples for tests of properties (Hypothesis)."""

from __future__ import annotations

from hypothesis import settings

EVERY_RUN, NIGHTLY = 12, 100
"""The percentages of examples in every run and with --nightly."""


def examples(count: int) -> settings:
    """Return settings with this many examples in a nightly run, and a part of them in every run."""
    return settings(max_examples=max(1, count * settings.default.max_examples // NIGHTLY))
