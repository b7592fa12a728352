"""Typical mistakes with models that type checkers cannot detect are rejected before any request."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tablepatterns.errors import BadInput

FILE = Path(__file__).parent / "typing" / "mistakes.py"


def mistakes() -> Any:
    spec = importlib.util.spec_from_file_location("mistakes", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As a module, whose names the annotations of its classes are looked up in
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(__import__("sys").modules, "mistakes", module)
        spec.loader.exec_module(module)
    return module


MISTAKES = mistakes()


def test_there_are_31_mistakes() -> None:
    assert (len(MISTAKES.REPORTED), len(MISTAKES.REJECTED_AT_RUN_TIME)) == (24, 7)


@pytest.mark.parametrize("number", range(7))
def test_a_mistake_that_types_cannot_tell_is_rejected_before_any_request(number: int) -> None:
    with MISTAKES.storage.engine.ledger.span() as span, pytest.raises(BadInput):
        MISTAKES.REJECTED_AT_RUN_TIME[number]()
    assert span.totals.requests == 0
