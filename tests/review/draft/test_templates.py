"""Key templates are recognized from keys: any key reads back, and varied values give the same formats."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.errors import BadDesign, BadKey
from tablepatterns.key import Key
from tablepatterns.review.draft.templates import recognized, slots, template_of

texts = st.text(st.characters(exclude_categories=["C"], exclude_characters="/\\#?"), max_size=12)
words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
instants = st.datetimes(datetime(1980, 1, 1), datetime(2090, 1, 1), timezones=st.just(timezone.utc))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "06d": st.integers(0, 999_999),
    "09d": st.integers(0, 999_999_999),
    "ticks": instants,
    "inverted": instants,
    "%Y-%m-%d": st.dates(date(1980, 1, 1), date(2090, 1, 1)),
    "%Y-%m-%dT%H": instants.map(lambda at: at.replace(minute=0, second=0, microsecond=0)),
    "%Y-%m-%dT%H:%M": instants.map(lambda at: at.replace(second=0, microsecond=0)),
    "uuid": st.uuids(),
    "float": st.floats(-1e6, 1e6, width=32).filter(lambda value: value == 0 or abs(value) > 1e-6),
    "": words,
}
ROWS = 40


@st.composite
def templates(draw: st.DrawFn) -> list[str | tuple[str, str]]:
    """Parts of a template: literal words, and fields with a format, separated as the library requires."""
    specs = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    word = draw(st.sampled_from(["", "", "order_", "emp", "by-"]))
    if word == "emp" and specs[0] in ("", "uuid", "float"):
        word = "emp_"
    return [word, *(part for number, spec in enumerate(specs) for part in ("_" * (number > 0), (f"F{number}", spec)))]


def written(parts: list[str | tuple[str, str]]) -> str:
    return "".join(
        part if isinstance(part, str) else f"{{{part[0]}:{part[1]}}}" if part[1] else f"{{{part[0]}}}" for part in parts
    )


@given(templates(), st.data())
def test_varied_keys_give_the_template_that_wrote_them(parts: list[str | tuple[str, str]], data: st.DataObject) -> None:
    key = Key("p", written(parts))
    fields = [part for part in parts if isinstance(part, tuple)]
    rows = [
        {name: data.draw(VALUES[spec]) for name, spec in fields} for _ in range(data.draw(st.integers(ROWS, ROWS + 5)))
    ]
    columns = {name: {str(row[name])[:1] for row in rows} for name, _ in fields}
    found = recognized([key.format(row)[1] for row in rows])
    if all(len(each) >= 4 for each in columns.values()):
        assert template_of(found, [name for name, _ in fields]) == written(parts)


@given(st.lists(texts, min_size=1, max_size=30))
def test_any_keys_read_back(keys: list[str]) -> None:
    found = recognized(keys)
    for part in slots(found):
        assert len(part.texts) == len(keys)
    try:
        key = Key("p", template_of(found, [f"F{number}" for number in range(len(slots(found)))]))
    except BadDesign:
        return
    joined = ["".join(part if isinstance(part, str) else part.texts[at] for part in found) for at in range(len(keys))]
    for text, whole in zip(keys, joined, strict=True):
        try:
            values = key.parse("p", text)
        except BadKey:
            continue
        assert key.format(values)[1] == text
        assert whole.replace(" ", "") == text.replace(" ", "")


ID = UUID("0f3c9a4b-e1d2-4c7f-b0c5-a7e2d9186b3a")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["empid_000223", "empid_000152"], "empid_{F0:06d}"),
        (["1", "20", "300"], "{F0}"),
        (["1000123", "0999877", "1000004"], "{F0:+06d}"),
        (["airport"], "airport"),
        (["department"] * 12, "department"),
        ([f"2519936321679999999_{ID}"], "{F0:inverted}_{F1:uuid}"),
        (["20140822", "20140901"], "{F0:%Y%m%d}"),
        (["docs.2fa", "docs.2fb"], "{F0:escape}"),
        (["jo@contoso.com", "lee@fabrikam.com"], "{F0}"),
        (["email_jo@contoso.com", "email_lee@fabrikam.com"], "email_{F0}"),
        (["000123_2012", "000123_2013", "000124_2012"], "{F0:06d}_{F1:04d}"),
        (["v2_a", "v2_b"] * 6, "v2_{F0}"),
        (["AB-0012", "XY-0400"], "{F0}-{F1:04d}"),
    ],
)
def test_examples(keys: list[str], expected: str) -> None:
    found = recognized(keys)
    assert template_of(found, [f"F{number}" for number in range(len(slots(found)))]) == expected
