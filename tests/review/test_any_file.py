"""Any design file: it is reviewed, and written in every form and as Python, or rejected with its lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns_review import BadDesignFile, Design, read_design, review
from tablepatterns_review.code.module import written
from tablepatterns_review.report import as_json, html, markdown, text

NAMES = st.one_of(
    st.sampled_from(
        [
            *(
                "Orders",
                "3rd copies",
                "class",
                "None",
                "print",
                "'",
                '"""',
                "a\nb",
                "a: b",
                "Größe 日本",
                "{Id}",
                "%s",
                " ",
            ),
            *("__init__", "review", "design", "<b>", "|", "`", "COPY", "copy", "\u202e", "-", "0"),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
)
ROW_KEYS = ["{Number:09d}", "n_{Number:09d}", "{At:inverted}_{Id:uuid}", "{At:ticks}_{Number:09d}", "row_{Text:escape}"]
FIELDS = {
    "Group": {"distinct": 5, "size": 8, "skew": 0.7},
    "Number": {"type": "int32"},
    "At": {"type": "datetime", "order": "rising"},
    "Id": {"type": "guid"},
    "Text": {"size": 12},
    "Any": {"type": "double"},
    "Blob": {"type": "binary", "size": 3_000},
}
PATTERNS: list[dict[str, Any]] = [
    {},
    {"pattern": "compound_key"},
    {"pattern": "one_to_many"},
    {"pattern": "log_tail", "at": "At", "entry": "Id"},
    {"pattern": "partition_spread", "buckets": 4},
    {"pattern": "partition_spread", "buckets": 3, "by": ["Number"]},
    {"pattern": "period_tables", "period": "day", "at": "At"},
    {"pattern": "period_tables", "period": "month", "at": "At", "inner": "log_tail", "entry": "Id"},
    {"pattern": "data_series", "points": 24, "point_name": "P"},
    {"pattern": "data_series", "points": 300, "point_name": "Wert", "of": "float", "split": True},
    {"pattern": "wide_entity"},
    {"pattern": "wide_entity", "fixed": True},
]
DERIVED: list[dict[str, Any]] = [
    {"pattern": "intra_partition_index", "key": {"row": "text_{Text}_{Id:uuid}"}},
    {"pattern": "inter_partition_index", "key": {"partition": "t_{Text}", "row": "{Id:uuid}"}, "table": "ByText"},
    {"pattern": "inter_partition_index", "key": {"partition": "u_{Text}", "row": "u"}, "unique": True},
    {"pattern": "index_entities", "fields": ["Text"]},
    {"pattern": "index_entities", "fields": ["Any"], "store": {"container": "lists"}},
    {"pattern": "summary", "key": {"partition": "{Group}", "row": "total"}, "sums": {"Any": "Sum"}},
]
MAPPINGS: list[dict[str, Any]] = [
    {"pattern": "encrypted_properties", "names": ["Any"]},
    {"pattern": "large_properties", "names": ["Blob"], "container": "blobs"},
]
KNOWN: list[dict[str, str]] = [
    {},
    {"Group": "="},
    {"Group": "=", "Number": "="},
    {"Group": "=", "At": "range"},
    {"Text": "="},
    {"Group": "=", "Text": "prefix"},
    {"Text": "contains"},
    {"At": "range"},
]
FILTERS = [
    "PartitionKey eq 'a'",
    "RowKey eq 'b' or Any gt 3",
    "Text eq 'x'",
    "At gt '2020'",
    "not (Any eq 1)",
    "Nope eq 1",
]
rates = st.sampled_from([0, 0.001, 5, 3_000])


@st.composite
def queries(draw: st.DrawFn, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "rate": draw(rates)}
    if draw(st.integers(0, 3)):
        found["known"] = draw(st.sampled_from(KNOWN))
    else:
        found["filter"] = draw(st.sampled_from(FILTERS))
    options = {
        "order": ["At", "-At", "Any"],
        "take": [1, 10, 5_000],
        "skip": [100],
        "count_only": [True],
        "select": [["Any"]],
        "max_staleness": [0, 60],
        "region": ["secondary"],
        "results": [0, 3],
        "archived": [True],
    }
    for key in draw(st.lists(st.sampled_from(list(options)), max_size=2, unique=True)):
        found[key] = draw(st.sampled_from(options[key]))  # type: ignore[arg-type]
    return found


@st.composite
def writes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "operation": draw(st.sampled_from(["insert", "update", "delete"]))}
    if found["operation"] == "update" and draw(st.booleans()):
        found["changes"] = draw(st.sampled_from([["Any"], ["Text"], ["Group"], ["P"], ["P00"], ["Blob"]]))
    return {**found, "rate": draw(rates), "writers": draw(st.sampled_from([1, 8])), "overwrite": draw(st.booleans())}


@st.composite
def sets(draw: st.DrawFn, name: str) -> dict[str, Any]:
    pattern = draw(st.sampled_from(PATTERNS))
    key = {"partition": draw(st.sampled_from(["{Group}", "all", "{Group}_{Any}"]))}
    if "log_tail" not in (pattern.get("pattern"), pattern.get("inner")):
        key["row"] = draw(st.sampled_from(ROW_KEYS))
    found: dict[str, Any] = {
        "name": name,
        "table": draw(st.sampled_from(["Things", "Others"])),
        "key": key,
        "count": draw(st.sampled_from([0, 1, 40, 100_000])),
        "growth": draw(st.sampled_from([0, 1e6])),
        "fields": FIELDS,
        **pattern,
    }
    is_plain = found.get("pattern") in (None, "compound_key", "one_to_many", "log_tail", "partition_spread")
    if draw(st.booleans()):
        found["retention"] = {"days": 30, "by": "table" if pattern.get("period") else "entity"}
    if is_plain and draw(st.integers(0, 4)) == 0:
        found["archive"] = {"container": "old", "after_days": 90}
    if found.get("pattern") not in ("data_series", "wide_entity") and draw(st.booleans()):
        derived = draw(st.lists(st.sampled_from(DERIVED), max_size=2, unique_by=str))
        found["derived"] = [{**one, "name": draw(NAMES)} if draw(st.booleans()) else one for one in derived]
    if is_plain and "Any" not in key["partition"] and draw(st.integers(0, 3)) == 0:
        found["mappings"] = [draw(st.sampled_from(MAPPINGS))]
    if draw(st.integers(0, 3)) == 0:
        found["access"] = [{"name": draw(NAMES), "by": ["Group"]}]
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    found["query"] = [draw(queries(each)) for each in names[::2]]
    found["write"] = [draw(writes(each)) for each in names[1::2]]
    return found


@st.composite
def files(draw: st.DrawFn) -> str:
    """Return the text of a design file with one or two sets."""
    names = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    return toml({"name": draw(NAMES), "set": [draw(sets(name)) for name in names]})


def toml(values: dict[str, Any]) -> str:
    """Return a file with inline values, on several lines."""
    lines = [f"{key} = {value_of(value)}" for key, value in values.items() if key != "set"]
    for one in values["set"]:
        lines.append("[[set]]")
        lines += [f"{key} = {value_of(value)}" for key, value in one.items()]
    return "\n".join([*lines, ""])


def value_of(value: object) -> str:
    match value:
        case dict():
            return f"{{ {', '.join(f'{key} = {value_of(item)}' for key, item in value.items())} }}"
        case list():
            return f"[{', '.join(map(value_of, value))}]"
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return repr(value)


def read(source: str) -> tuple[Design | None, Sequence[tuple[int, str]]]:
    try:
        return read_design(source), ()
    except BadDesignFile as error:
        return None, error.problems


@settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_any_file_is_reviewed_and_written_in_every_form_or_rejected_with_its_lines(source: str) -> None:
    design, problems = read(source)
    if design is None:
        assert problems
        assert all(line >= 1 and says for line, says in problems)
        return
    reviewed = review(design)
    for write in (html, markdown, as_json):
        assert write(reviewed)
    assert text(reviewed)
    for name, module in written(design, "3 odd names").items():
        compile(module, name, "exec")


SERIES = """
name = "Messages"
[[set]]
name = "Series"
pattern = "data_series"
points = 24
point_name = "Hour"
key = { partition = "{Group}", row = "{Number:09d}" }
count = 10_000
fields = { Group = { distinct = 5 }, Number = { type = "int32" } }
[[set.query]]
name = "a day"
known = { Group = "=", Number = "=" }
[[set.write]]
name = "a message"
operation = "update"
changes = ["Hour03"]
rate = 100
"""


def test_a_write_may_name_the_point_that_it_changes() -> None:
    (call,) = [call for call in review(read_design(SERIES)).measured if call.kind == "update"]
    assert (call.how, call.rejected, call.written) == ("set(slot, value)", None, 1)


def test_results_of_single_values_are_rejected_since_the_counts_say_them() -> None:
    with pytest.raises(BadDesignFile, match="results = 5: known has no range, prefix or text"):
        read_design(SERIES.replace('known = { Group = "=", Number = "=" }', 'known = { Group = "=" }\nresults = 5'))
