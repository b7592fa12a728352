"""Invalid design files: each gives a clear error with file and line and status 2, and never a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tablepatterns.cli.main import main
from tablepatterns_review import BadDesignFile, read_design, review

DESIGN = """\
name = "Staff"
years = 3

[[set]]
name = "Employees"
table = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 2_000
growth = 10
retention = { days = 30 }

[set.fields]
Department = { distinct = 12, size = 10, skew = 0.5 }
EmployeeId = { type = "int32" }
Age = { type = "int32", distinct = 50 }

[[set.derived]]
pattern = "index_entities"
fields = "Age"
store = "table"
table = "ByAge"
key = { partition = "age_{Age:03d}", row = "ids" }

[[set.query]]
name = "by number"
known = { Department = "=", EmployeeId = "=" }
rate = 10

[[set.write]]
name = "hire"
operation = "insert"
rate = 1
"""


def run(path: Path) -> Result:
    return CliRunner().invoke(main, ["review", str(path)])


def rejected(path: Path, content: bytes) -> tuple[int, str]:
    """Return the line and the text of the only error."""
    path.write_bytes(content)
    said = run(path)
    assert said.exit_code == 2
    assert said.exception is None or isinstance(said.exception, SystemExit)
    assert f"{path.name}:" in said.stderr
    assert "Traceback" not in said.stderr
    with pytest.raises(BadDesignFile) as caught:
        read_design(path)
    (problem,) = caught.value.problems
    return problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "staff.toml"


def test_a_byte_order_mark_is_fine(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + DESIGN.encode())
    assert run(path).exit_code == 0


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (DESIGN.encode("utf-16"), 1, "UTF-16"),
        (DESIGN.replace('"Staff"', '"Stäff"').encode("latin-1"), 1, "not UTF-8"),
        (DESIGN.replace('"by number"', '"by n\xfcmber"').encode("latin-1"), 25, "not UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", 1, "binary"),
        (b"\x00\x00\x00", 1, "not TOML"),
        (b"", 1, "name is missing"),
    ],
    ids=["UTF-16", "Latin-1", "Latin-1 further down", "binary", "zeros", "empty"],
)
def test_what_is_not_text_is_named(path: Path, content: bytes, line: int, says: str) -> None:
    found = rejected(path, content)
    assert found[0] == line
    assert says in found[1]


CHANGES = [
    ("rate = 10", "rate = nan", "rate = nan: expected a finite number"),
    ("rate = 10", "rate = inf", "rate = inf: expected a finite number"),
    ("rate = 10", "rate = -inf", "rate = -inf: expected a finite number"),
    ("growth = 10", "growth = nan", "expected a finite number"),
    ("years = 3", "years = inf", "expected a finite number"),
    ("days = 30", "days = nan", "expected a finite number"),
    ("days = 30", "days = 0", "it must be above 0"),
    ("skew = 0.5", "skew = inf", "expected a finite number"),
    ("count = 2_000", "count = 99999999999999999999999999", "64 bits"),
    ("count = 2_000", "count = " + "9" * 5_000, "not TOML"),
    ("count = 2_000", "count = 9_000_000_000_000_000_000", "or less"),
    ("count = 2_000", "count = 2_000\ncount = 3_000", "count is declared twice; keep one of them"),
    ("count = 2_000", "count = " + "[" * 3_000 + "]" * 3_000, "nested too deeply"),
    ("count = 2_000", "count = " + "[" * 40 + "]" * 40, "nested too deeply"),
    ("count = 2_000", "count = " + "{ a = " * 40 + "1" + " }" * 40, "nested too deeply"),
    ("count = 2_000", "count" + ".a" * 200 + " = 1", "nested too deeply"),
    ("rate = 10", "rate = 1979-05-27", "expected a number"),
    ("Age = {", "'Full Name' = {", "property name"),
    ("Age = {", "'1st' = {", "property name"),
    ("Age = {", "'' = {", "property name"),
    ("Age = {", "x" * 300 + " = {", "characters"),
    ("distinct = 50 }", "distinct = 50 }\nTimestamp = { type = 'datetime' }", "Timestamp is set by the service"),
    ("distinct = 50 }", "distinct = 50 }\nRowKey = {}", "RowKey is set by the service"),
    ('table = "Employees"', 'table = "1st"', "table"),
    ('table = "ByAge"', 'table = "no_underscores"', "table"),
    ("distinct = 50 }", "distinct = 50, within = 'Age' }", "is not another field"),
    ('{ partition = "age_{Age:03d}", row = "ids" }', '"by age"', "expected"),
    (DESIGN[DESIGN.index("fields =") : DESIGN.index("\n\n[[set.query]]")], 'fields = "Age"', "Age is not text"),
    (
        "distinct = 50 }",
        "within = 'B' }\nB = { within = 'C' }\nC = { within = 'Age' }",
        "Age within B within C within Age is a cycle",
    ),
]


@pytest.mark.parametrize(("old", "new", "says"), CHANGES, ids=[each[1][:30] for each in CHANGES])
def test_what_is_wrong_is_said_in_one_line(path: Path, old: str, new: str, says: str) -> None:
    text = DESIGN.replace(old, new, 1)
    if "cycle" in says or "'Full Name'" in new or new.startswith(("'1st'", "''", "xxx")):
        # Nothing else is to be wrong with the design
        text = text[: text.index("[[set.derived]]")] + text[text.index("[[set.query]]") :]
    path.write_bytes(text.encode())
    said = run(path)
    assert said.exit_code == 2
    assert "Traceback" not in said.stderr
    with pytest.raises(BadDesignFile) as caught:
        read_design(path)
    first, *_ = caught.value.problems
    assert says in first[1]
    assert len(first[1]) < 800
    assert first[0] >= text[: text.index(new.splitlines()[0])].count("\n") + 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_is_changed_in_a_file_it_is_a_design_or_an_error(data: st.DataObject) -> None:
    lines = DESIGN.splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    key = lines[number].partition("=")[0]
    value = data.draw(
        st.sampled_from(
            ["1", "-1", "0", "1e308", "nan", '""', '"x"', "[]", "{}", "true", "[1]", '["a"]', '{ a = "=" }']
        )
    )
    lines[number] = f"{key}= {value}" if key.strip() and "=" in lines[number] else data.draw(st.text(max_size=20))
    text = "\n".join(lines) + "\n"
    problems: Sequence[tuple[int, str]] = ()
    try:
        design = read_design(text)
    except BadDesignFile as error:
        problems = error.problems
        design = None
    assert all(1 <= line <= len(lines) + 1 and says for line, says in problems)
    assert (design is None) == bool(problems)
    if design is not None:
        assert review(design).design is design
