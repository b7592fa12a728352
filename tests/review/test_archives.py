"""Archives of a design: what a move costs, beside what `Traffic` measures, how the sets grow, and what is rejected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tablepatterns import (
    BlobArchive,
    EncryptedProperties,
    EntitySet,
    InterPartitionIndex,
    IntraPartitionIndex,
    Key,
    connect,
)
from tablepatterns.errors import BadDesign
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import Store
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.worker import Worker
from tablepatterns.traffic import Traffic
from tablepatterns.typed_json import encoded
from tablepatterns_engine import Clock, Engine
from tablepatterns_review import (
    ArchivePolicy,
    BadDesignFile,
    DeclaredSet,
    Design,
    Field,
    PriceTable,
    Query,
    Retention,
    Severity,
    Shape,
    Write,
    declare_set,
    read_design,
    review,
)
from tablepatterns_review.capacity.growth import grown, volume_of
from tablepatterns_review.code.module import written
from tablepatterns_review.design.writes import YEAR, with_moves
from tablepatterns_review.kinds.plain import Plain
from tablepatterns_review.measure.measure import Measurements, measure
from tablepatterns_review.measure.sample import NOW, sample
from tablepatterns_review.plans.sizes import archived_size
from tablepatterns_review.report.tables import comparison
from tablepatterns_review.result import Measured
from tablepatterns_review.reviewer import without_advice

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
FIELDS = {
    "Department": Field(distinct=8, size=10),
    "EmployeeId": Field("int32"),
    "Email": Field(size=24),
    "LastName": Field(distinct=40, size=12),
    "Since": Field("datetime", order="rising"),
    "Notes": Field(size=400),
}
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
NAME_ELSEWHERE = InterPartitionIndex(Key("name_{LastName}", "{Department}_{EmployeeId:06d}"), table="ByName")
ALONE, INDEXED, AWAY = ((), (BY_EMAIL,), (NAME_ELSEWHERE,))
TO_FORMER = "Employees: archive to Former"
TARGETS: Mapping[str, tuple[Any, Any]] = {
    "a set": (ALONE, ALONE),
    "a set, with an index in each": (INDEXED, INDEXED),
    "a set, with an index elsewhere": (ALONE, AWAY),
    "blobs": (INDEXED, None),
}


def staff(table: str, derived: Any, storage: Any = None) -> EntitySet[Any]:
    return EntitySet(storage or connect(), table, KEY, derived=derived)


def declared(table: str, count: int, derived: Any = (), **options: Any) -> DeclaredSet:
    growth = options.pop("growth", 0.0)
    return declare_set(staff(table, derived), shape=Shape(table, count, FIELDS, growth), **options)


def design(count: int, source: Any = (), target: Any = (), *, former: int | None = None, **options: Any) -> Design:
    """Return a design with an archive: a set, or blobs if the target is None."""
    place: dict[str, Any] = {"container": "former"} if target is None else {"to": "Former"}
    query = Query("former employee", {"Department": "=", "EmployeeId": "="}, rate=1, archived=True)
    place |= {"after_days": 365, **options.pop("policy", {})}
    policy = ArchivePolicy(**place)
    current = declared("Employees", count, source, archive=policy, queries=[query], **options)
    kept = [] if target is None else [declared("Former", count if former is None else former, target)]
    return Design("Staff", (current, *kept))


def figures(traffic: Traffic, calls: int) -> dict[str, float]:
    overall = traffic.overall
    cost = overall.cost
    return {
        "requests": overall.requests / calls,
        "transactions": overall.transactions / calls,
        "examined": sum(each.examined or 0 for each in traffic.requests if each.service == "table") / calls,
        "blob_reads": (cost.blob_read + cost.blob_other) / calls,
        "blob_writes": (cost.blob_write + cost.blob_list) / calls,
        "queue_operations": cost.queue / calls,
        "bytes_in": overall.bytes_in / calls,
        "bytes_out": overall.bytes_out / calls,
    }


def differences(found: Measured, real: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    said = {each: getattr(found, each) for each in real}
    return {
        each: (said[each], real[each])
        for each in real
        if not math.isclose(said[each], real[each], rel_tol=0.1, abs_tol=300 if each.startswith("bytes") else 0.01)
    }


@pytest.mark.parametrize("name", TARGETS)
def test_writes_of_an_empty_set_cost_as_much_as_those_of_a_set_with_entities(name: str) -> None:
    source, target = TARGETS[name]
    elsewhere = InterPartitionIndex(Key("{LastName}", "{Department}_{EmployeeId:06d}"), table="CurrentByName")
    writes = [Write("hire", "insert"), Write("marry", "update", ("LastName",)), Write("leave", "delete")]
    one, many = (
        {
            each.access.name: (each.requests, each.transactions, each.examined, each.written)
            for each in measure(design(count, (*source, elsewhere), target, writes=writes))
            if isinstance(each.access, Write)
        }
        for count in (0, 300)
    )
    assert one == {each: pytest.approx(figures) for each, figures in many.items()}
    assert len(one) == 4


def test_a_comparison_shows_another_place_and_another_retention_as_changes() -> None:
    options: dict[str, Any] = {"policy": {"rate": 0.001}, "writes": [Write("hire", "insert", rate=0.01)]}
    before = review(design(300, target=None, retention=Retention(800), **options))
    after = review(design(300, retention=Retention(900), **options))
    names = [row[0].text for row in comparison(before, after)[0].rows]
    assert names == [
        "Employees: former employee",
        "Employees: hire",
        "Employees: retention of 800 days → Employees: retention of 900 days",
        "Employees: archive to former → Employees: archive to Former",
    ]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # In every run each target has one of the two sizes, in turn
        pytest.param(name, count, marks=[] if (number + at) % 2 else pytest.mark.nightly, id=f"{name}-{size}")
        for number, name in enumerate(TARGETS)
        for at, (count, size) in enumerate([(200, "all made"), (2_400, "sampled")])
    ],
)
def test_a_move_and_a_read_cost_what_traffic_measures(name: str, count: int) -> None:
    source, target = TARGETS[name]
    get, *_, move = [each for each in measure(design(count, source, target)) if each.of.name == "Employees"]
    storage = connect(Engine(clock=Clock(NOW)))
    entities = sample("real", Shape("Employee", count, FIELDS), [KEY], span=NOW - NOW.replace(year=2013)).stored
    current = staff("Employees", source, storage)
    Plain(storage, current).load(entities)
    there: Any = BlobArchive(storage, "former") if target is None else staff("Former", target, storage)
    archive = Archive(current, there)
    keys = [{name: each[name] for name in KEY.fields} for each in entities[:: count // 20]]

    def archived(key: Mapping[str, Any]) -> None:
        archive.archive(key)
        assert Worker(storage, [archive]).run_once().handled == 1

    # The queue, the table and the container are created once
    archived(keys[0])
    with Traffic(storage) as moves:
        for each in keys[1:]:
            archived(each)
    with Traffic(storage) as reads:
        for each in keys[1:]:
            assert archive.get(each) is not None
    assert differences(move, figures(moves, len(keys) - 1)) == {}
    assert differences(get, figures(reads, len(keys) - 1)) == {}
    assert (move.kind, move.is_implied, move.follows, get.rejected) == ("delete", True, True, None)


def test_a_move_is_measured_whatever_the_archive_holds() -> None:
    """Both samples have the same keys, and a copy that is there already costs three more requests."""
    one = Key("employee", "{EmployeeId:06d}")
    sets = [EntitySet(connect(), name, one) for name in ("Employees", "Former")]
    shapes = [Shape(name, count, FIELDS) for name, count in (("Employees", 50), ("Former", 500))]
    current = declare_set(sets[0], shape=shapes[0], archive=ArchivePolicy(to="Former", after_days=30))
    found = measure(Design("Staff", (current, declare_set(sets[1], shape=shapes[1]))))
    assert found[-1].requests == 6


def test_an_archived_entity_in_a_blob_has_the_computed_size() -> None:
    (of,) = design(500, (), None).sets
    made = sample("real", replace(of.shape, count=500), [KEY], span=NOW - NOW.replace(year=2013)).stored
    sizes = [len(encoded(KEY.format({name: each[name] for name in KEY.fields}), _own(each))) for each in made]
    assert archived_size(of) == pytest.approx(sum(sizes) / len(sizes), rel=0.03)


def _own(entity: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entity.items() if name not in KEY.fields}


HIRE = Write("hire", "insert", rate=0.01)


def growths(of: Design) -> list[float]:
    return [round(each.shape.net_growth) for each in with_moves(of).sets]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # What is added leaves at the declared age, so the set keeps its size
        ({"growth": 5_000}, [0, 5_000]),
        ({"writes": [HIRE]}, [0, round(0.01 * YEAR)]),
        # The capacity is that of the declared growth, whatever the rates
        ({"writes": [HIRE], "growth": 5_000}, [0, 5_000]),
        ({"writes": [HIRE], "growth": 5_000, "policy": {"rate": 0.004}}, [3_000, 2_000]),
        # Nothing is added: the existing ones are archived evenly, and replaced
        ({}, [0, 20_014]),
        # A declared rate takes what it takes
        ({"growth": 5_000, "policy": {"rate": 2_000 / YEAR}}, [3_000, 2_000]),
        ({"growth": 1_000, "policy": {"rate": 3_000 / YEAR}}, [-2_000, 3_000]),
        # No more than there are
        ({"growth": 1_000, "policy": {"rate": 1e6 / YEAR}}, [-20_000, 21_000]),
        # Each is deleted before it would be archived
        ({"growth": 1_000, "retention": Retention(90)}, [1_000, 0]),
    ],
)
def test_the_source_shrinks_by_what_the_archive_grows(options: Mapping[str, Any], expected: list[float]) -> None:
    assert growths(design(20_000, **options)) == pytest.approx(expected, abs=20)


def test_the_growth_of_an_archive_includes_what_it_receives() -> None:
    of = design(20_000, growth=5_000)
    assert growths(replace(of, sets=(of.sets[0], declared("Former", 100, growth=8_000)))) == [0, 8_000]


def test_an_archive_that_is_retained_grows_until_its_days_are_full() -> None:
    of = design(20_000, growth=3_000)
    kept = replace(of, sets=(of.sets[0], declared("Former", 0, retention=Retention(365.25))))
    assert [grown(with_moves(kept).sets[1].shape, years) for years in (0.5, 1, 3)] == [1_500, 3_000, 3_000]
    full = replace(of, sets=(of.sets[0], declared("Former", 4_000, retention=Retention(365.25))))
    assert grown(with_moves(full).sets[1].shape, 3) == 4_000
    expired = [each.rate for each in measure(full, most=40) if each.access.name.startswith("retention")]
    assert expired == [pytest.approx(3_000 / YEAR)]


def test_an_archive_of_an_archive_receives_its_entities() -> None:
    first = declared("Employees", 1_000, growth=500, archive=ArchivePolicy(to="Former", after_days=365))
    second = declared("Former", 0, archive=ArchivePolicy(to="Oldest", after_days=730))
    # The order of the sets has no effect
    assert growths(Design("Staff", (declared("Oldest", 0), second, first))) == [500, 0, 0]


def test_blobs_take_what_is_archived() -> None:
    current = with_moves(design(20_000, (), None, growth=5_000, policy={"count": 1_000})).sets[0]
    now, then = (volume_of(current, years) for years in (0, 3))
    assert now.tables == then.tables
    assert then.blobs == pytest.approx(16 * now.blobs)
    assert now.blobs == pytest.approx(1_000 * archived_size(current))


def test_the_bill_of_the_archive_grows_and_that_of_the_set_does_not() -> None:
    of = design(20_000_000, growth=5_000_000, former=0)
    found = review(of)
    assert found.bill.then > found.bill.total
    assert grown(with_moves(of).sets[0].shape, 3) == 20_000_000
    lines = {(each.subject, each.unit): each.quantity for each in found.bill.lines}
    moved = 5_000_000 / 365.25 * 30.44
    for unit, each in {"queue operations": 3, "table reads": 1, "table writes": 1, "table deletes": 1}.items():
        assert lines["Employees: archive to Former", unit] == pytest.approx(each * moved)


def test_a_move_loads_the_partitions_of_both_tables() -> None:
    found = review(design(20_000, ALONE, AWAY, growth=20_000, policy={"rate": 10.0, "peak": 4_000.0}))
    tables = {each.table: each.partitions[0].peak for each in found.heats}
    assert tables["Employees"] > 500
    assert tables["Former"] > 250
    assert tables["ByName"] > 50
    assert {each.subject for each in found.in_sight if each.limit == "messages of an archive in a second"} == {
        "Employees: archive to Former"
    }
    assert found.account.peak >= 4_000 * 6


# -- Rules


def reported(of: Design) -> dict[str, tuple[str, Severity]]:
    _, reviewed = without_advice(of, PriceTable.default(), Measurements())
    return {each.rule: (each.subject, each.severity) for each in reviewed.findings if "archive" in each.rule}


SCAN = Query("all", {"LastName": "="}, rate=0.01)


def with_scan(of: Design) -> Design:
    first = of.sets[0]
    return replace(of, sets=(replace(first, queries=(*first.queries, SCAN)), *of.sets[1:]))


def test_an_archive_of_a_set_that_is_scanned_has_no_finding() -> None:
    assert reported(with_scan(design(500, growth=400))) == {}
    assert reported(design(500, (), None, growth=400)) == {}


@pytest.mark.parametrize(
    ("count", "options", "expected"),
    [
        (300, {"retention": Retention(90)}, {"archive-or-retention": ("Employees", Severity.WARNING)}),
        (300, {"retention": Retention(900)}, {"archive-or-retention": ("Employees", Severity.WARNING)}),
        (300, {"retention": Retention(900), "policy": {"rate": 1e-6}}, {}),
        (300, {"policy": {"rate": 3e-6}}, {}),
        (300, {"policy": {"rate": 4e-6}}, {"archive-empties-set": ("Employees", Severity.WARNING)}),
        (300, {"growth": 90_000, "policy": {"rate": 1.3e-3}}, {}),
        (
            300,
            {"growth": 90_000, "policy": {"rate": 1.2e-3}},
            {"archive-falls-behind": ("Employees", Severity.SERIOUS)},
        ),
        (300, {"policy": {"rate": 1e-6, "peak": 999.0}}, {}),
        (300, {"policy": {"rate": 1e-6, "peak": 1_001.0}}, {"archive-too-fast": (TO_FORMER, Severity.SERIOUS)}),
    ],
)
def test_a_rule_finds(count: int, options: Mapping[str, Any], expected: Mapping[str, object]) -> None:
    assert reported(with_scan(design(count, former=9, **options))) == expected


@pytest.mark.parametrize(
    ("rate", "query", "expected"),
    [
        # 79 million reads of blobs a month cost 35 USD
        (30.0, None, {"archive-costs-more": ("Employees", Severity.WARNING)}),
        (1.0, None, {}),
        # Scans are shorter without the old entities
        (30.0, SCAN, {}),
    ],
)
def test_blobs_that_are_read_often_cost_more_than_a_table(
    rate: float, query: Query | None, expected: Mapping[str, object]
) -> None:
    of = design(300, (), None, growth=300)
    key = dict.fromkeys(("Department", "EmployeeId"), "=")
    queries = (Query("former", key, rate=rate, archived=True), *filter(None, [query]))
    assert reported(replace(of, sets=(replace(of.sets[0], queries=queries),))) == expected


def test_the_archive_grows_without_end_and_the_set_does_not() -> None:
    of = with_scan(design(10**9, growth=2e9, former=10**9))
    _, found = without_advice(of, PriceTable.default(), Measurements())
    assert [each.subject for each in found.findings if each.rule == "unbounded-growth"] == ["Former"]
    assert not [each for each in found.findings if each.rule == "growth-mismatch"]


def test_equal_keys_in_one_table_are_a_finding() -> None:
    text = FILE.replace('name = "Former"\n', 'name = "Former"\ntable = "Employees"\n')
    assert [each.rule for each in review(read_design(text)).findings if each.rule.startswith("overlap")]


# -- What is rejected

FILE = """
name = "Staff"
[[set]]
name = "Employees"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 20_000
archive = { to = "Former", after_days = 365 }
[set.fields]
Department = { distinct = 12 }
EmployeeId = { type = "int32" }
Salary = { type = "int32" }
[[set.query]]
name = "former"
known = { Department = "=", EmployeeId = "=" }
archived = true
[[set]]
name = "Former"
key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
count = 100
fields = { Department = { distinct = 12 }, EmployeeId = { type = "int32" }, Salary = { type = "int32" } }
"""


def test_an_archive_has_the_fields_of_the_set_that_is_archived_there() -> None:
    current, former = read_design(FILE[: FILE.rindex("fields = ")]).sets
    assert former.shape.fields == current.shape.fields
    assert current.archive == ArchivePolicy(to="Former", after_days=365)


ARCHIVE = 'archive = { to = "Former", after_days = 365 }'
LAST = 'name = "Former"\nkey = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }'


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('to = "Former"', 'to = "Formr"', 7, "to = 'Formr' is not another set; did you mean Former?"),
        ('to = "Former"', 'to = "Employees"', 7, "to = 'Employees' is not another set"),
        ('to = "Former"', 'to = "Former", container = "former"', 7, "it needs either to, a set, or container"),
        ('to = "Former", ', "", 7, "it needs either to, a set, or container"),
        ('to = "Former"', 'to = "Former", count = 7', 7, "count = 7: it is for blobs"),
        (", after_days = 365", "", 7, "it needs after_days, or the rate of archived entities"),
        ("after_days = 365", "after_days = 0", 7, "after_days = 0: it must be above 0"),
        ("after_days = 365", "days = 365", 7, "days is not a known key"),
        ("after_days = 365", "rate = 2, peak = 1", 7, "peak = 1: it is below rate = 2"),
        ('to = "Former"', 'container = "F"', 7, "'F'"),
        (ARCHIVE, "", 15, "the set has no archive; declare archive, or remove archived"),
        ('known = { Department = "=", EmployeeId = "=" }', "", 15, "an archive is read by the whole key"),
        (LAST, LAST + '\narchive = { to = "Employees", rate = 1 }', 19, "Former to Employees to Former is a cycle"),
        ("row = \"empid_{EmployeeId:06d}\" }\ncount = 100", 'row = "x" }\ncount = 12', 7, "its key must be made of"),
        (LAST, LAST + '\npattern = "partition_spread"', 7, "use the pattern entity_set or log_tail"),
        ('[[set.query]]', '[[set.mappings]]\npattern = "encrypted_properties"\nnames = ["Salary"]\n[[set.query]]', 7,
         "it does not map Salary"),
    ],
)  # fmt: skip
def test_what_cannot_be_archived_is_rejected_with_its_line(old: str, new: str, line: int, says: str) -> None:
    assert old in FILE
    at = FILE.rindex(old) if old == LAST or "count = 100" in old else FILE.index(old)
    with pytest.raises(BadDesignFile) as raised:
        read_design(FILE[:at] + new + FILE[at + len(old) :])
    found = dict(raised.value.problems)
    assert says in found[line]
    # Both sets of a cycle are named
    assert len(found) == 1 + ("cycle" in says)


def test_a_set_of_a_program_is_checked_like_that_of_a_file() -> None:
    secret = EncryptedProperties(["Notes"], keys=LocalKey("test", bytes(32)))
    entities = EntitySet(connect(), "Employees", KEY, mappings=[secret])
    policy = ArchivePolicy(container="former", after_days=30)
    of = declare_set(entities, shape=Shape("Employee", 10, FIELDS), archive=policy)
    with pytest.raises(BadDesign, match="without the mapping"):
        review(Design("Staff", (of,)))
    assert issubclass(BlobArchive, Store)


# -- As Python

ORDERS = """
name = "Orders"
[[set]]
name = "Orders"
key = { partition = "{CustomerId:08d}", row = "order_{OrderId:012d}" }
count = 3_000_000
growth = 3_000_000
archive = { container = "orders-archive", after_days = 365, peak = 20, count = 5_000_000 }
[set.fields]
CustomerId = { type = "int32", distinct = 100_000 }
OrderId = { type = "int64" }
Placed = { type = "datetime", order = "rising" }
Lines = { size = 2_000 }
[[set.query]]
name = "old order"
known = { CustomerId = "=", OrderId = "=" }
archived = true
rate = 0.5
[[set.write]]
name = "place"
operation = "insert"
rate = 0.1
"""


def test_the_cost_of_an_archive_is_written_as_a_test() -> None:
    test = written(read_design(ORDERS), "orders")["test_orders.py"]
    assert '("Orders", "archive to orders-archive"): (6, 1),' in test
    assert '("Orders", "old order"): (2, 0),' in test
