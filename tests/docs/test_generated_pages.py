"""Every page that `make pages` writes as a whole or between markers is up to date."""

from __future__ import annotations

from types import ModuleType

import pytest
from tools import ROOT
from tools.pages.__main__ import PAGES

AT_NIGHT = "docs/tutorials/iot-fleet.md"
"""It runs the most commands; that of the help desk runs commands in every run."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] if page.PAGE == AT_NIGHT else []) for page in PAGES],
    ids=lambda page: page.PAGE,
)
def test_a_generated_page_is_up_to_date(page: ModuleType) -> None:
    assert (ROOT / page.PAGE).read_text(encoding="utf-8") == page.render(), "run `make pages`"
