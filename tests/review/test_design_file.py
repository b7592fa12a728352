"""Design files: what they declare, and the errors of invalid ones."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest
from tools.pages.design_format import KEYS

from tablepatterns import IndexEntity, InterPartitionIndex, IntraPartitionIndex, Key, Summary
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.recipes.denormalize import FilledCopies
from tablepatterns_review import (
    BadDesignFile,
    DeclaredSet,
    Design,
    Field,
    Finding,
    PriceTable,
    Query,
    Retention,
    Write,
    read_design,
)
from tablepatterns_review.design_file import format as tables
from tablepatterns_review.measure.measure import Measurements
from tablepatterns_review.reviewer import without_advice
from tablepatterns_review.toml_file import Places

STAFF = """\
name = "Staff"
years = 2.5

[[set]]
name = "Employees"
table = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
entity = "Employee"
count = 20_000
growth = 5_000
retention = { days = 90, by = "entity" }

[set.fields]
Department = { distinct = 12, skew = 0.7, size = 10 }
EmployeeId = { type = "int32" }
Email = { size = 24, largest = 60 }
Salary = { type = "int64", secret = true }
Since = { type = "datetime", order = "rising" }

[[set.derived]]
pattern = "intra_partition_index"
key = { row = "email_{Email}" }
name = "by e-mail"

[[set.query]]
name = "by e-mail"
known = { Department = "=", Email = "=" }
rate = 200
peak = 500

[[set.query]]
name = "newest"
known = { Department = "=" }
order = "-Since"
take = 10
select = ["Email"]
max_staleness = 60

[[set.write]]
name = "raise"
operation = "update"
changes = ["Salary"]
rate = 1
writers = 3
"""


def read(text: str) -> Design:
    return read_design(text)


def only(text: str) -> DeclaredSet:
    (declared,) = read(text).sets
    return declared


def refused(old: str, new: str) -> list[tuple[int, str]]:
    """Return what is said of the design with one thing changed, with the lines."""
    assert STAFF.count(old) == 1
    with pytest.raises(BadDesignFile) as caught:
        read(STAFF.replace(old, new))
    return list(caught.value.problems)


def line_of(piece: str, text: str = STAFF) -> int:
    return text[: text.index(piece)].count("\n") + 1


# -- What is declared


def test_a_file_declares_sets_with_all_that_is_said_of_them() -> None:
    design = read(STAFF)
    (employees,) = design.sets
    assert (design.name, design.years) == ("Staff", 2.5)
    assert (employees.name, employees.table, employees.pattern) == ("Employees", "Employees", "entity_set")
    assert employees.key == Key("{Department}", "empid_{EmployeeId:06d}")
    assert (employees.shape.entity, employees.shape.count, employees.shape.growth) == ("Employee", 20_000, 5_000)
    assert employees.shape.fields["Department"] == Field(distinct=12, skew=0.7, size=10)
    assert employees.shape.fields["Salary"] == Field("int64", secret=True)
    assert employees.shape.fields["Since"] == Field("datetime", order="rising")
    assert employees.retention == Retention(90)
    assert employees.writes == (Write("raise", "update", ("Salary",), rate=1, writers=3),)
    assert employees.queries == (
        Query("by e-mail", {"Department": "=", "Email": "="}, rate=200, peak=500),
        Query("newest", {"Department": "="}, order="-Since", take=10, select=("Email",), max_staleness=60),
    )
    (index,) = employees.derived
    assert isinstance(index, IntraPartitionIndex)
    assert (index.key, index.name) == (Key("{Department}", "email_{Email}"), "by e-mail")


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "staff.toml"
    path.write_text(STAFF, encoding="utf-8")
    assert [each.name for each in read_design(path).sets] == [each.name for each in read_design(str(path)).sets]


EVENTS = """\
name = "Events"
[[set]]
name = "Events"
{lines}
count = 1_000
[set.fields]
Device = {{ distinct = 5, size = 8 }}
At = {{ type = "datetime", order = "rising" }}
EventId = {{ type = "int32" }}
"""
KEY = 'key = { partition = "{Device}", row = "{At:inverted}_{EventId:06d}" }'


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        (KEY + '\npattern = "compound_key"', {}),
        ('pattern = "log_tail"\nkey = { partition = "{Device}" }', {"at": "At", "entry": "EntryId"}),
        (
            KEY + '\npattern = "partition_spread"\nbuckets = 8\nby = ["EventId"]',
            {"buckets": 8, "by": ("EventId",), "bucket": "Bucket"},
        ),
        (
            KEY + '\npattern = "period_tables"\nperiod = "week"\nretention = { days = 30, by = "table" }',
            {"period": "week", "inner": "entity_set", "at": "At"},
        ),
        (
            'key = { partition = "{Device}" }\npattern = "period_tables"\ninner = "log_tail"',
            {"period": "day", "inner": "log_tail", "at": "At", "entry": "EntryId"},
        ),
        (
            KEY + '\npattern = "data_series"\npoints = 24\npoint_name = "Hour"\nof = "float"',
            {"points": 24, "name": "Hour", "of": "float", "split": False},
        ),
        (KEY + '\npattern = "wide_entity"\nfixed = true', {"fixed": False}),
    ],
    ids=["plain", "log tail", "spread", "periods", "periods of logs", "series", "wide"],
)
def test_each_pattern_of_sets_is_declared_with_its_settings(lines: str, settings: dict[str, object]) -> None:
    assert only(EVENTS.format(lines=lines)).settings == settings


@pytest.mark.parametrize("at", ["Added", "Device"])
def test_the_instant_of_period_tables_is_a_field_with_a_timestamp(at: str) -> None:
    text = EVENTS.format(lines=f'{KEY}\npattern = "period_tables"\nat = "{at}"')
    with pytest.raises(BadDesignFile) as caught:
        read(text)
    says = f"at = '{at}' is not a field of Events with a timestamp; use one of At"
    assert caught.value.problems == ((line_of("at = ", text), f'set "Events": {says}'),)


def test_a_wide_entity_of_known_properties_says_so() -> None:
    text = EVENTS.format(lines=KEY + '\npattern = "wide_entity"\nfixed = true') + "Value = { type = 'double' }\n"
    assert only(text).settings == {"fixed": True}


def test_a_log_tail_adds_its_instant_and_its_id_to_the_fields() -> None:
    text = EVENTS.format(lines='pattern = "log_tail"\nkey = { partition = "{Device}" }\nrow_prefix = "log_"')
    declared = only(text)
    assert declared.key.row_template == "log_{At:inverted}_{EntryId:uuid}"
    assert declared.shape.fields["EntryId"] == Field("guid")


DERIVED = """\
[[set.derived]]
pattern = "inter_partition_index"
key = { partition = "since_{Since:ticks}", row = "{Department}_{EmployeeId:06d}" }
table = "EmployeesBySince"
unique = true
include = ["Email"]
[[set.derived]]
pattern = "index_entities"
fields = "Email"
store = { container = "mails" }
[[set.derived]]
pattern = "summary"
key = { partition = "total_{Department}", row = "total" }
table = "Totals"
count = ""
sums = { Salary = "Payroll" }
spread = 4
[[set.mappings]]
pattern = "large_properties"
names = ["Photo"]
container = "photos"
above = 1_000
"""


def test_derived_data_and_mappings_are_declared_with_all_that_they_take() -> None:
    fields = (
        'Photo = { type = "binary", size = 5_000 }\nNumber = { type = "int32" }\n\n[[set.derived]]\npattern = "intra'
    )
    text = STAFF.replace('\n[[set.derived]]\npattern = "intra', fields, 1) + DERIVED
    declared = only(text)
    kinds: list[type[Derived]] = [IntraPartitionIndex, InterPartitionIndex, IndexEntity, Summary]
    assert [type(each) for each in declared.derived] == kinds
    _, elsewhere, lists, totals = declared.derived
    assert isinstance(elsewhere, InterPartitionIndex)
    assert (elsewhere.is_unique, elsewhere.include) == (True, {"Email"})
    assert isinstance(lists, IndexEntity)
    assert lists.placement == InBlobs("mails")
    assert isinstance(totals, Summary)
    assert (totals.placement, totals.count, totals.spread) == (InTable("Totals"), None, 4)
    assert [each.name for each in declared.mappings] == ["large properties"]


COPIES = """\
name = "Staff"
[[set]]
name = "Departments"
table = "Staff"
key = { partition = "{Department}", row = "department" }
count = 4
[set.fields]
Department = {}
ManagerId = { type = "int32" }
ManagerEmail = {}
[[set.derived]]
pattern = "denormalize"
filled_from = "Employees"
[[set]]
name = "Employees"
table = "Staff"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 40
[set.fields]
Department = { distinct = 4 }
EmployeeId = { type = "int32" }
Email = {}
[[set.derived]]
pattern = "denormalize"
key = { partition = "{Department}", row = "department" }
refers = { EmployeeId = "ManagerId" }
copies = { Email = "ManagerEmail" }
"""


def test_copies_are_declared_for_both_sets() -> None:
    departments, employees = read(COPIES).sets
    assert isinstance(departments.derived[0], FilledCopies)
    assert employees.derived[0].name == "department"


# -- What is refused


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'Email = "=" }',
            'Emial = "=" }',
            'query "by e-mail": known.Emial is not a field of Employee; did you mean Email',
        ),
        ('order = "-Since"', 'order = "-Hired"', "order = '-Hired' is not a field of Employee; fields: Department, "),
        ("rate = 200", "raet = 200", 'query "by e-mail": raet is not a known key; did you mean rate?'),
        ("count = 20_000", 'count = "many"', "set \"Employees\": count = 'many': expected a whole number"),
        ("count = 20_000", "count = -1", 'set "Employees": count = -1: it must be 0 or more'),
        ("count = 20_000\n", "", 'set "Employees": count is missing'),
        ('type = "int32"', 'type = "integer"', "type = 'integer': use one of string, int32"),
        (
            'type = "int32"',
            'type = "guid"',
            "{EmployeeId:06d} in the key needs a field of type int32 or int64, and it is guid",
        ),
        ('row = "empid_{EmployeeId:06d}"', 'row = "empid_{EmployeeId:06x}"', "unknown format"),
        ('row = "empid_{EmployeeId:06d}"', 'row = "empid_{Number:06d}"', "the key names Number, which is not a field"),
        ('row = "email_{Email}"', 'row = "phone_{Phone}"', "it reads Phone, which is not a field of Employee"),
        (
            'pattern = "intra_partition_index"',
            'pattern = "intra"',
            "pattern = 'intra': use one of intra_partition_index",
        ),
        ('pattern = "intra_partition_index"', "pattern = 5", "pattern = 5: use one of intra_partition_index"),
        ('operation = "update"', 'operation = "upsert"', "operation = 'upsert': did you mean insert?"),
        ('changes = ["Salary"]', 'changes = ["Wage"]', 'write "raise": changes: Wage is not a field of Employee'),
        ("writers = 3", "writers = 0", "writers = 0: it must be 1 or more"),
        ("peak = 500", "peak = 100", "peak = 100: it is below rate = 200"),
        ("take = 10", "take = 0", "take = 0: it must be 1 or more"),
        ('Department = "=", Email', 'Department = "is", Email', "Department = 'is': use one of =, range, prefix"),
        (
            'known = { Department = "=" }',
            'known = { Since = "prefix" }',
            "only strings can be searched so",
        ),
        ('known = { Department = "=" }', "filter = 'Age eq'", "the filter cannot be sent"),
        ('by = "entity"', 'by = "table"', "retention.by = 'table' needs the pattern period_tables"),
        ('name = "newest"', 'name = "by e-mail"', "another access pattern of the set has this name"),
        ("count = 20_000", "permanent = true\ncount = 20_000", "permanent entities have no retention"),
        ("distinct = 12", "distinct = 0", "distinct = 0: it must be 1 or more"),
        ("largest = 60", "largest = 6", "largest = 6: it is below size = 24"),
        ("secret = true", 'within = "Nothing"', "within = 'Nothing' is not another field"),
        ("writers = 3", 'atomic_with = ["fire"]', "atomic_with: 'fire' is not a write of another set"),
        ("years = 2.5", "years = 0", "years = 0: it must be above 0"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(old: str, new: str, says: str) -> None:
    (line, said), *others = refused(old, new)
    assert says in said
    assert others == []
    # A key that is missing is said of the table that lacks it, a field that does not fit the key of the key
    places = {"": "[[set]]", 'type = "guid"': "key = { partition"}
    assert line == line_of(places.get(new, old))


def test_the_error_of_a_missing_pattern_lists_the_patterns() -> None:
    line, said = refused('pattern = "intra_partition_index"\n', "")[0]
    assert "pattern is missing; use one of intra_partition_index, inter_partition_index" in said
    assert line == line_of("[[set.derived]]")


def test_all_that_is_wrong_is_said_in_one_go_in_the_order_of_the_lines() -> None:
    text = STAFF.replace("rate = 200", "raet = 200").replace("count = 20_000", "count = 1.5").replace("years", "yaers")
    with pytest.raises(BadDesignFile) as caught:
        read(text)
    assert [line for line, _ in caught.value.problems] == [2, 9, line_of("raet", text)]
    assert caught.value.message.splitlines()[0] == "design:2: yaers is not a known key; did you mean years?"


def test_the_name_of_the_file_is_in_front_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "staff.toml"
    path.write_text(STAFF.replace("take = 10", "take = 0"), encoding="utf-8")
    with pytest.raises(BadDesignFile, match=r'^staff\.toml:\d+: query "newest": take = 0'):
        read_design(path)


@pytest.mark.parametrize("broken", ['name = "Staff', "name = 1\nname = 2\n", "[[set]\n"])
def test_what_is_not_toml_is_rejected_with_the_line(broken: str) -> None:
    with pytest.raises(BadDesignFile, match=r"not TOML") as caught:
        read("# a comment\n" + broken)
    assert caught.value.problems[0][0] >= 2


def test_a_file_without_a_set_declares_nothing() -> None:
    with pytest.raises(BadDesignFile, match="there is no set"):
        read('name = "Nothing"\n')


CORRECTED = [
    ("{EmployeeId:06d}", "{EmployeeId:6d}", "unpadded", "Employees", "empid_{EmployeeId:06d}"),
    ("{EmployeeId:06d}", "{EmployeeId}", "unpadded", "Employees", "empid_{EmployeeId:06d}"),
    ("empid_{EmployeeId:06d}", "{Department}_{EmployeeId:06d}", "both-keys", "Employees", "_{EmployeeId:06d}"),
    ("empid_{EmployeeId:06d}", "empid/{EmployeeId:06d}", "forbidden", "Employees", "empid_{EmployeeId:06d}"),
    ("empid_{EmployeeId:06d}", "{Email}{EmployeeId:06d}", "ambiguous", "Employees", "{Email}_{EmployeeId:06d}"),
    ("empid_{EmployeeId:06d}", "{Email}", "overlap", "Employees: by e-mail", "entity_{Email}"),
]


def findings(design: Design) -> Sequence[Finding]:
    """Return the findings about a design; no change is tried."""
    return without_advice(design, PriceTable.default(), Measurements())[1].findings


@pytest.mark.parametrize(("right", "wrong", "kind", "subject", "row"), CORRECTED)
def test_a_key_that_a_recipe_rejects_is_corrected_and_becomes_a_finding(
    right: str, wrong: str, kind: str, subject: str, row: str
) -> None:
    design = read(STAFF.replace(right, wrong, 1))
    assert (kind, subject) in [(flaw.kind, flaw.subject) for flaw in design.flaws]
    assert design.sets[0].key.row_template == row
    assert findings(design)


@pytest.mark.parametrize("literal", ["{{", "}}", "{{a}}_", "a}}b{{"])
def test_a_key_may_contain_braces(literal: str) -> None:
    key = only(STAFF.replace("empid_{EmployeeId:06d}", f"{literal}_{{EmployeeId:06d}}", 1)).key
    assert key.row_template == f"{literal}_{{EmployeeId:06d}}"


def test_a_timestamp_in_two_formats_is_distinguished_from_a_value_that_is_stored_twice() -> None:
    text = """
name = "Trail"
[[set]]
name = "Trail"
count = 1000
key = { partition = "{At:%Y%m%d}", row = "{At:ticks}_{EntryId:uuid}" }
[set.fields]
At = { type = "datetime", order = "rising" }
EntryId = { type = "guid" }
"""
    (one,) = read(text).flaws
    assert one.says == "At is in both keys of Trail, in two formats, and a key takes each field once."
    (other,) = read(text.replace("ticks", "%Y%m%d")).flaws
    assert other.says == "At is in both keys of Trail, so each partition holds one value of it."


def test_a_key_with_too_few_values_is_a_finding() -> None:
    design = read(
        STAFF.replace('EmployeeId = { type = "int32" }', 'EmployeeId = { type = "int32", distinct = 100 }', 1)
    )
    (flaw,) = design.flaws
    assert (flaw.kind, flaw.subject) == ("too-few", "Employees")
    assert "has 1,200 different values for 20,000 entities" in flaw.says
    assert "colliding-keys" in [each.rule for each in findings(design)]


def test_rows_of_two_sets_that_can_have_the_same_keys_are_a_finding() -> None:
    both = STAFF + STAFF[STAFF.index("[[set]]") :].replace('name = "Employees"', 'name = "Others"', 1)
    design = read(both)
    assert ("overlap", "Others") in [(flaw.kind, flaw.subject) for flaw in design.flaws]
    assert design.sets[0].table != design.sets[1].table


def test_two_sets_cannot_have_one_name() -> None:
    with pytest.raises(BadDesignFile, match="another set has this name"):
        read(STAFF + STAFF[STAFF.index("[[set]]") :])


def test_a_source_of_copies_must_be_there() -> None:
    with pytest.raises(BadDesignFile, match="filled_from = 'Nobody': no set of this name has a denormalize"):
        read(COPIES.replace('filled_from = "Employees"', 'filled_from = "Nobody"'))


# -- Lines


def test_the_line_of_each_key_is_found_past_arrays_texts_and_comments_of_several_lines() -> None:
    text = (
        '[[a]]\nb = [\n  "]", # ]\n  "x",\n]\nc = """\n[[a]]\nd = 1\n"""\n[[a]]\n"e f" = { g = 1 }\n[[a.h]]\ni.j = 2\n'
    )
    places = Places(text)
    paths = [("a", 0, "b"), ("a", 0, "c"), ("a", 1), ("a", 1, "e f", "g"), ("a", 1, "h", 0, "i", "j"), ("z",)]
    assert [places.line(path) for path in paths] == [2, 6, 10, 11, 13, 1]


# -- Documentation


def test_every_key_that_can_be_given_is_documented_and_no_other() -> None:
    """The keys that an error lists, those of the documentation and those of the JSON Schema are the same."""
    given = {
        "The file": "zz = 1\n" + STAFF,
        "[[set]]": STAFF.replace("count = 20_000", "count = 20_000\nzz = 1"),
        "[set.fields]": STAFF.replace("Department = { ", "Department = { zz = 1, "),
        "[[set.query]]": STAFF.replace("rate = 200", "zz = 200"),
        "[[set.write]]": STAFF.replace("writers = 3", "zz = 3"),
    }
    documented = {(row[0], row[2]) for row in KEYS.rows()}
    for table, text in given.items():
        with pytest.raises(BadDesignFile) as caught:
            read(text)
        said = re.search(r"zz is not a known key; use one of (.*)", caught.value.problems[0][1])
        assert said
        named = set(said[1].split(", "))
        kinds = [tables.PlainTable] if table == "[[set]]" else tables.TABLES[table]
        assert named == {each.name for kind in kinds for each in fields(kind)}
        assert named <= {key for at, key in documented if at == table}
        definitions = {**tables.schema()["$defs"], "DesignTable": tables.schema()}
        assert named == set(definitions[kinds[0].__name__]["properties"])


def test_every_key_of_the_schema_says_what_it_means() -> None:
    schema = tables.schema()
    for definition in (schema, *schema["$defs"].values()):
        for name, key in definition["properties"].items():
            assert key.get("description") or (name == "pattern" and "const" in key), (definition["title"], name)


def test_pydantic_is_imported_only_for_files() -> None:
    """To explain a query, or to review a design in Python, takes no pydantic."""
    code = (
        "import sys\nfrom tablepatterns_review.design_file import checks\n"
        "from tablepatterns_review.kinds import recipes\n"
        "from tablepatterns_review.measure import measure\nprint('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
