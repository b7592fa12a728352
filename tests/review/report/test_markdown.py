"""The report in Markdown: valid tables, and escaped names."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from review.report.sample import HOSTILE, hostile, sample
from tablepatterns_review.report import markdown
from tablepatterns_review.report.formatting import plain
from tablepatterns_review.report.markdown import code, escaped
from tablepatterns_review.report.tables import sheets

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or [])


def texts(source: str) -> str:
    return "".join(each.content for each in flat(PARSER.parse(source)) if each.type in ("text", "code_inline"))


def test_every_table_of_the_report_is_one_with_all_its_fields() -> None:
    found = sheets(sample())
    tokens = PARSER.parse(markdown(sample()))
    count = {kind: sum(1 for each in tokens if each.type == kind) for kind in ("table_open", "td_open", "th_open")}
    assert count == {
        "table_open": len(found),
        "th_open": sum(len(each.columns) for each in found),
        "td_open": sum(len(each.columns) * len(each.rows) for each in found),
    }


def test_every_finding_is_a_heading_of_its_own() -> None:
    lines = markdown(sample()).splitlines()
    headings = [line.removeprefix("### ").split(":")[0] for line in lines if line.startswith("### ")]
    assert headings == ["Serious", "Warning", "Warning", "Note"]


def test_what_a_design_names_becomes_no_markup() -> None:
    tokens = list(flat(PARSER.parse(markdown(hostile()))))
    assert {each.content for each in tokens if "html" in each.type} <= {"<br>"}
    assert [each for each in tokens if each.type in ("em_open", "link_open", "image", "s_open", "fence")] == []
    assert plain(HOSTILE) in texts(markdown(hostile()))


@example("__0__")
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(plain).filter(bool))
def test_any_text_says_itself(words: str) -> None:
    assert texts(f"say {escaped(words)} so") == f"say {words} so"


@given(st.text(st.sampled_from("a`|<_\\ "), min_size=1).map(plain).filter(bool))
def test_any_code_in_a_table_says_itself(words: str) -> None:
    assert texts(f"| a |\n| --- |\n| x {code(words)} |\n") == f"ax {words}"
