"""Accepts what notebook 01 plots, and draws nothing."""

from unittest.mock import MagicMock

style, show = MagicMock(), MagicMock(return_value=None)
rcParams: dict[str, object] = {}  # noqa: N816 - its name in matplotlib


def subplots() -> tuple[MagicMock, MagicMock]:
    return MagicMock(), MagicMock()
