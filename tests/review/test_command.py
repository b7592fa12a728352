"""`tablepatterns review`: its output, files and exit status."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tablepatterns.cli.main import main
from tablepatterns_review import read_design, review
from tablepatterns_review.report import as_json, html, markdown

SOUND = """
name = "Staff"
[[set]]
name = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 500
[set.fields]
Department = { distinct = 12, size = 10 }
EmployeeId = { type = "int32" }
[[set.query]]
name = "employee by number"
known = { Department = "=", EmployeeId = "=" }
rate = 10
"""
SCANNING = (
    SOUND
    + """
[[set.query]]
name = "employees by office"
known = { Office = "=" }
rate = 50
"""
).replace("[[set.query]]", "Office = { distinct = 9 }\n[[set.query]]", 1)
IN_PYTHON = """
from tablepatterns import EntitySet, Key, connect
from tablepatterns_review import Design, Field, Query, Shape, declare_set

employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
fields = {"Department": Field(distinct=12, size=10), "EmployeeId": Field("int32")}
asked = [Query("employee by number", {"Department": "=", "EmployeeId": "="}, rate=10)]
staff = Design("Staff", (declare_set(employees, shape=Shape("Employees", 500, fields), queries=asked),))


def made() -> Design:
    return staff


number = 1
broken = lambda: 1 / 0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "sound.toml").write_text(SOUND)
    (tmp_path / "scanning.toml").write_text(SCANNING)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["review", *arguments])


def test_a_sound_design_ends_with_0() -> None:
    said = run("sound.toml", "--fail-on", "note")
    assert (said.exit_code, said.stderr) == (0, "")
    assert said.stdout.startswith("Design review: Staff\nno findings\n")


def test_findings_end_with_1_from_the_severity_on_that_is_asked_for() -> None:
    worst = json.loads(run("scanning.toml", "--format", "json").stdout)["severity"]
    order = ["note", "warning", "serious"]
    statuses = [run("scanning.toml", "--fail-on", severity).exit_code for severity in [*order, "never"]]
    assert statuses == [*(int(place <= order.index(worst)) for place in range(3)), 0]
    assert worst != "note"


@pytest.mark.parametrize(
    ("form", "begins"), [("markdown", "# Design review: Staff\n"), ("json", '{\n  "schema": 5,'), ("html", "<!DOCTYPE")]
)
def test_each_form_can_be_asked_for(form: str, begins: str) -> None:
    assert run("sound.toml", "--format", form).stdout.startswith(begins)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.md", "# "), ("a.json", "{"), ("a.HTML", "<!DOCTYPE"), ("a.txt", "Design review"), ("a", "Design review")],
)
def test_the_form_of_a_file_follows_from_its_ending(folder: Path, name: str, begins: str) -> None:
    said = run("sound.toml", "--output", name)
    assert said.stdout == f"Staff: no findings; {name}\n"
    assert (folder / name).read_text(encoding="utf-8").startswith(begins)


def test_the_form_that_is_asked_for_goes_before_the_ending(folder: Path) -> None:
    run("sound.toml", "--output", "a.txt", "--format", "json")
    assert json.loads((folder / "a.txt").read_text())["design"]["name"] == "Staff"


def test_text_in_a_file_has_neither_colours_nor_blanks_at_the_ends_of_lines(folder: Path) -> None:
    run("scanning.toml", "--output", "a.txt")
    lines = (folder / "a.txt").read_text().splitlines()
    assert [line for line in lines if line != line.rstrip() or not (line == "" or line.isprintable())] == []


def test_a_design_in_python_gives_the_report_of_the_same_design_in_toml(folder: Path) -> None:
    (folder / "a_design.py").write_text(IN_PYTHON)
    output = run("sound.toml", "--format", "json").stdout
    assert json.loads(output)["design"]["sets"][0]["shape"]["entity"] == "Employees"
    assert run("a_design:staff", "--format", "json").stdout == output
    assert run("a_design:made", "--format", "json").stdout == output


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing.toml", "there is no such file"),
        ("nothing", "give a TOML file, or package.module:design"),
        ("no_such_module:design", "No module named 'no_such_module'"),
        ("b_design:number", "b_design has no Design of that name"),
        ("b_design:broken", "ZeroDivisionError: division by zero"),
        ("b_design:missing", "b_design has no Design of that name"),
    ],
)
def test_a_design_that_is_not_there_ends_with_2(folder: Path, source: str, words: str) -> None:
    (folder / "b_design.py").write_text(IN_PYTHON)
    said = run(source)
    assert (said.exit_code, said.stdout) == (2, "")
    assert words in said.stderr


def test_a_wrong_file_ends_with_2_and_names_line_and_key(folder: Path) -> None:
    (folder / "wrong.toml").write_text(SOUND.replace("count = 500", 'count = "many"').replace("rate = 10", "rte = 10"))
    said = run("wrong.toml")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "wrong.toml:6" in said.stderr
    assert "count" in said.stderr
    assert "rte" in said.stderr


def test_a_wrong_price_table_ends_with_2(folder: Path) -> None:
    (folder / "prices.toml").write_text('currency = "EUR"\n')
    assert run("sound.toml", "--prices", "prices.toml").exit_code == 2
    assert run("sound.toml", "--prices", "no_prices.toml").exit_code == 2


def test_another_price_table_makes_another_bill(folder: Path) -> None:
    own = files("tablepatterns").joinpath("prices.toml").read_text().replace('"USD"', '"EUR"')
    (folder / "prices.toml").write_text(own)
    assert (
        json.loads(run("sound.toml", "--prices", "prices.toml", "--format", "json").stdout)["bill"]["currency"] == "EUR"
    )


@pytest.mark.parametrize(
    "arguments", [("--format", "pdf"), ("--fail-on", "sometimes"), ("--output", "no/such/folder.md")]
)
def test_wrong_use_ends_with_2(arguments: tuple[str, str]) -> None:
    assert run("sound.toml", *arguments).exit_code == 2


def test_the_same_design_gives_the_same_report() -> None:
    one, other = (review(read_design(Path("scanning.toml"))) for _ in range(2))
    for report in (markdown, as_json, html):
        assert report(one) == report(other)
    assert run("scanning.toml").stdout == run("scanning.toml").stdout


def test_a_transaction_over_the_limit_is_a_finding_and_no_error(folder: Path) -> None:
    indexes = "".join(
        f'[[set.derived]]\npattern = "intra_partition_index"\nkey = {{ row = "by{number}_{{A{number}}}_{{Id:06d}}" }}\n'
        for number in range(8)
    )
    fields = "".join(f"A{number} = {{ distinct = 5 }}\n" for number in range(8))
    large = "".join(f'B{number} = {{ type = "binary", size = 60_000 }}\n' for number in range(10))
    text = (
        'name = "Large"\n[[set]]\nname = "Things"\nkey = { partition = "{P}", row = "id_{Id:06d}" }\ncount = 5\n'
        f'[set.fields]\nP = {{ distinct = 3 }}\nId = {{ type = "int32" }}\n{fields}{large}{indexes}'
        '[[set.write]]\nname = "add"\noperation = "insert"\nrate = 1\n'
    )
    (folder / "large.toml").write_text(text)
    said = run("large.toml", "--format", "markdown")
    assert said.exit_code == 1
    assert "### Serious: Things: write 'add' (transaction-too-large)" in said.stdout


def test_the_schema_of_a_design_file_is_printed() -> None:
    said = run("--json-schema")
    assert said.exit_code == 0
    assert json.loads(said.stdout)["title"] == "tablepatterns design"
    assert run().exit_code == 2


def test_a_change_of_the_report_is_made_in_another_file_or_in_the_design_itself(folder: Path) -> None:
    before = (folder / "scanning.toml").read_text()
    found = json.loads(run("scanning.toml", "--format", "json").stdout)["findings"]
    number = next(each["fix"] for each in found if each["fix"])
    assert run("scanning.toml", "--fix", str(number), "--output", "changed.toml").exit_code == 0
    assert (folder / "scanning.toml").read_text() == before
    changed = (folder / "changed.toml").read_text()
    assert set(before.splitlines()) <= set(changed.splitlines())
    after = json.loads(run("changed.toml", "--format", "json").stdout)["findings"]
    rules = [{(each["rule"], each["subject"]) for each in findings} for findings in (found, after)]
    assert (found[number - 1]["rule"], found[number - 1]["subject"]) in rules[0] - rules[1]
    assert run("scanning.toml", "--fix", str(number)).exit_code == 0
    assert (folder / "scanning.toml").read_text() == changed


def test_a_number_without_a_change_changes_nothing(folder: Path) -> None:
    before = (folder / "sound.toml").read_text()
    said = run("sound.toml", "--fix", "1")
    assert said.exit_code == 2
    assert "the report has no such change; it has none" in said.stderr.replace("\n", " ")
    assert (folder / "sound.toml").read_text() == before


def test_two_designs_are_compared_by_access_pattern(folder: Path) -> None:
    number = next(
        each["fix"] for each in json.loads(run("scanning.toml", "--format", "json").stdout)["findings"] if each["fix"]
    )
    run("scanning.toml", "--fix", str(number), "--output", "changed.toml")
    text = run("--diff", "scanning.toml", "changed.toml", "--format", "markdown").stdout
    assert "scan → " in text
    assert "| resolved |" in text
    assert run("--diff", "scanning.toml", "scanning.toml").exit_code == 0
    assert run("--diff", "scanning.toml", "no_such.toml").exit_code == 2
    assert run("--diff", "scanning.toml", "changed.toml", "--format", "html").exit_code == 2


def test_a_review_of_many_access_patterns_is_announced_and_has_a_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablepatterns_review.cli._MANY", 20)
    monkeypatch.setattr("tablepatterns_review.reviewer.MAX_TESTS", 30)
    query = '[[set.query]]\nname = "by office {number}"\nknown = {{ Office = "=" }}\nrate = 50\n'
    (folder / "many.toml").write_text(SCANNING + "".join(query.format(number=number) for number in range(20)))
    said = run("many.toml", "--format", "json")
    assert said.stderr == (
        "Reviewing 22 access patterns takes a second for about 10 of them, and tests of changes end after "
        "30 measurements.\n"
    )
    findings = json.loads(said.stdout)["findings"]
    assert [each for each in findings if "too many access patterns" in each["better"]]
    measured = list[int]()
    review(read_design(Path("many.toml")), on_measured=measured.append)
    # Each design that is tested is measured whole, and the changes of all are tried together at the end
    assert measured == list(range(1, len(measured) + 1))
    assert 22 < len(measured) <= 22 + 30 + 3 * 22
