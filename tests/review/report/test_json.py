"""The report in JSON: it conforms to its schema, and the same review gives the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from datetime import date
from enum import Enum
from math import inf, nan
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import given
from hypothesis import strategies as st

from review.report.sample import HOSTILE, clean, hostile, sample
from tablepatterns_review.report import as_json
from tablepatterns_review.report.json import SCHEMA, document, members
from tablepatterns_review.report.json import figure as rounded
from tablepatterns_review.result import Reviewed

PAGE = Path(__file__).parents[3] / "docs" / "review.md"


def faults(value: object, kind: Any, where: str = "") -> list[str]:
    """Return where a value is not as its type in the model says."""
    if is_dataclass(kind):
        hints = {key: inner for key, _, inner in members(kind)}
        if not isinstance(value, dict) or list(value) != list(hints):
            return [where]
        return [each for key, inner in hints.items() for each in faults(value[key], inner, f"{where}.{key}")]
    origin = get_origin(kind)
    if origin is tuple:
        assert isinstance(value, list)
        return [each for item in value for each in faults(item, get_args(kind)[0], f"{where}[]")]
    if origin in (Union, UnionType):
        found = [faults(value, each, where) for each in get_args(kind)]
        return [] if [] in found else [where]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return [] if isinstance(value, dict) else [where]
    return [] if isinstance(value, in_json(kind, origin)) else [where]


def in_json(kind: Any, origin: Any) -> tuple[type, ...]:
    """Return the types that a value of a simple type may have in JSON."""
    if kind is float:
        return (int, float, type(None))
    is_text = origin is Literal or kind in (str, date) or (isinstance(kind, type) and issubclass(kind, Enum))
    if is_text or kind.__name__ in ("Derived", "PropertyMapping"):
        return (str,)
    return (dict,) if kind.__name__ == "Key" else (kind,)


def without_schema(document: dict[str, Any]) -> dict[str, Any]:
    """Return a report without the version of its keys."""
    assert document.pop("schema") == SCHEMA
    return document


def test_the_documentation_has_the_version_of_the_keys() -> None:
    assert f'`"schema": {SCHEMA}`' in PAGE.read_text(encoding="utf-8")


def test_every_report_is_as_the_schema_says() -> None:
    for reviewed in (sample(), clean(), hostile()):
        assert faults(without_schema(json.loads(as_json(reviewed))), Reviewed) == []


def test_the_schema_check_sees_what_does_not_fit() -> None:
    broken = json.loads(as_json(sample()))
    broken["heat"][0]["partitions"][0]["peak"] = "high"
    del broken["findings"][0]["rule"]
    assert faults(without_schema(broken), Reviewed) == [".heat[].partitions[].peak", ".findings[]"]


def test_a_report_round_trips_through_json() -> None:
    text = as_json(sample())
    assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n" == text
    assert as_json(sample()) == text


def test_figures_are_those_of_the_review() -> None:
    reviewed = sample()
    report = document(reviewed)
    assert report["severity"] == "serious"
    assert [each["examined"] for each in report["access_patterns"]] == [each.examined for each in reviewed.measured]
    assert report["heat"][0]["partitions"][0]["peak"] == 6200
    assert max(report["heat"][0]["partitions"][0]["peaks_by_hour"], key=lambda each: each or 0) == 6200
    assert report["access_patterns"][4]["query_class"] == "table scan"
    assert report["bill"]["total"] == rounded(reviewed.bill.total)


def test_what_a_design_names_is_as_the_design_has_it() -> None:
    assert json.loads(as_json(hostile()))["design"]["name"] == HOSTILE


def test_a_figure_without_a_bound_is_null() -> None:
    reviewed = sample()
    idle = replace(reviewed.heats[0], headroom=inf, spread_peak=nan)
    report = json.loads(as_json(replace(reviewed, heats=(idle,))))
    assert (report["heat"][0]["headroom"], report["heat"][0]["spread_peak"]) == (None, None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_figure_rounds_to_itself_once_it_is_rounded(value: float) -> None:
    once = rounded(value)
    assert once is not None
    assert rounded(once) == once
    assert abs(once - value) <= abs(value) * 1e-5
