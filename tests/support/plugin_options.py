"""How tests run pytest with the plugin, in a process that has imported it already."""

from __future__ import annotations

from pathlib import Path

import pytest

STRICT = ("-W", "error", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""A warning is an error, but for the one that an older pytest gives of this process."""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with no fixtures of its own, on which pytest loads this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "patterns"))
    return pytester
