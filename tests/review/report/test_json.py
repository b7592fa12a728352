"""The report in JSON: as its schema says, and the same bytes for the same review."""

from __future__ import annotations

import json
import types
from dataclasses import replace
from math import inf, nan
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from hypothesis import given
from hypothesis import strategies as st

from review.report.sample import HOSTILE, clean, hostile, sample
from tablepatterns.review.report import as_json
from tablepatterns.review.report.json import ReviewJson, document
from tablepatterns.review.report.json import figure as rounded


def faults(value: object, kind: Any, where: str = "") -> list[str]:
    """Return where a value is not as its type says."""
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict) or list(value) != list(hints):
            return [where]
        return [each for key, inner in hints.items() for each in faults(value[key], inner, f"{where}.{key}")]
    if get_origin(kind) is list:
        assert isinstance(value, list)
        return [each for item in value for each in faults(item, get_args(kind)[0], f"{where}[]")]
    if get_origin(kind) in (Union, types.UnionType):
        found = [faults(value, each, where) for each in get_args(kind)]
        return [] if [] in found else [where]
    fits = isinstance(value, (int, float) if kind is float else kind)
    return [] if fits else [where]


def test_every_report_is_as_the_schema_says() -> None:
    for reviewed in (sample(), clean(), hostile()):
        assert faults(json.loads(as_json(reviewed)), ReviewJson) == []


def test_the_schema_check_sees_what_does_not_fit() -> None:
    broken = json.loads(as_json(sample()))
    broken["heat"][0]["partitions"][0]["peak"] = "high"
    del broken["findings"][0]["rule"]
    assert faults(broken, ReviewJson) == [".findings[]", ".heat[].partitions[].peak"]


def test_a_report_that_was_read_is_written_alike() -> None:
    told = as_json(sample())
    assert json.dumps(json.loads(told), indent=2, ensure_ascii=False) + "\n" == told
    assert as_json(sample()) == told


def test_figures_are_those_of_the_review() -> None:
    reviewed = sample()
    told = document(reviewed)
    assert told["severity"] == "serious"
    assert [each["examined"] for each in told["access_patterns"]] == [each.examined for each in reviewed.measured]
    assert told["heat"][0]["partitions"][0]["peak"] == 6200
    assert max(told["heat"][0]["partitions"][0]["peaks_by_hour"], key=lambda each: each or 0) == 6200
    assert told["access_patterns"][4]["query_class"] == "table scan"
    assert told["bill"]["total"] == rounded(reviewed.bill.total)


def test_what_a_design_names_is_as_the_design_has_it() -> None:
    assert json.loads(as_json(hostile()))["design"]["name"] == HOSTILE


def test_a_figure_without_a_bound_is_null() -> None:
    reviewed = sample()
    idle = replace(reviewed.heats[0], headroom=inf, spread_peak=nan)
    told = json.loads(as_json(replace(reviewed, heats=(idle,))))
    assert (told["heat"][0]["headroom"], told["heat"][0]["spread_peak"]) == (None, None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_figure_rounds_to_itself_once_it_is_rounded(value: float) -> None:
    once = rounded(value)
    assert once is not None
    assert rounded(once) == once
    assert abs(once - value) <= abs(value) * 1e-5
