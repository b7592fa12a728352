"""Sampling: properties of generated entities of a declared shape."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablepatterns import BulkLoad, EntitySet, Key, connect, prop
from tablepatterns.filters import QueryClass
from tablepatterns_engine import Engine
from tablepatterns_review import Design, Field, Query, Shape, declare_set
from tablepatterns_review.design.distribution import equal, found_by, values_of
from tablepatterns_review.measure.measure import measure
from tablepatterns_review.measure.sample import Sample, sample, shrunk

YEAR = timedelta(days=365)
PARTITION_SCAN = QueryClass.PARTITION_SCAN
BY_DEPARTMENT = Key("{Department}", "empid_{EmployeeId:06d}")

counts = st.integers(1, 300)
distincts = st.integers(1, 40)
skews = st.sampled_from([0.0, 0.5, 1.0, 1.5])


def employees(count: int, distinct: int = 12, skew: float = 0.0, names: int = 30) -> Shape:
    fields = {
        "Department": Field(distinct=distinct, skew=skew, size=10),
        "EmployeeId": Field("int32"),
        "LastName": Field(distinct=names, size=12),
        "Since": Field("datetime", order="rising"),
    }
    return Shape("Employee", count, fields)


def made(shape: Shape, seed: str = "Staff") -> Sample:
    return sample(seed, shape, [BY_DEPARTMENT], span=YEAR)


@given(counts, distincts, skews)
def test_each_value_occurs_as_often_as_declared_but_for_the_rounding(count: int, distinct: int, skew: float) -> None:
    shape = employees(count, distinct, skew)
    occurring = Counter(made(shape).ranks["Department"])
    values = values_of(shape, "Department")
    assert len(occurring) <= distinct
    for rank in range(1, values.count + 1):
        assert abs(occurring[rank] - count * values.share(rank)) <= 1


@given(counts, distincts)
def test_there_are_as_many_entities_as_declared_and_no_two_have_one_key(count: int, distinct: int) -> None:
    found = made(employees(count, distinct))
    keys = {BY_DEPARTMENT.format({name: each[name] for name in BY_DEPARTMENT.fields}) for each in found.stored}
    assert len(found.stored) == len(keys) == count
    assert not {each["EmployeeId"] for each in found.spare}.intersection(each["EmployeeId"] for each in found.stored)


@given(counts)
def test_a_rising_field_rises_to_the_present_and_begins_no_earlier_than_declared(count: int) -> None:
    instants = [each["Since"] for each in made(employees(count)).stored]
    assert instants == sorted(instants)
    assert instants[-1] - instants[0] <= YEAR


@given(counts, distincts, distincts)
def test_an_instant_is_in_the_hour_and_the_hour_in_the_day_of_its_entity(count: int, days: int, hours: int) -> None:
    fields = {name: Field("datetime", order="rising") for name in ("Day", "Hour", "At")}
    fields |= {"Day": Field("datetime", order="rising", distinct=days)}
    fields |= {"Hour": Field("datetime", order="rising", distinct=hours), "Id": Field("guid")}
    key = Key("{Day:%Y-%m-%d}", "{Hour:%Y-%m-%dT%H}_{At:ticks}_{Id:uuid}")
    stored = sample("Events", Shape("Event", count, fields), [key], span=YEAR).stored
    for entity in stored:
        assert entity["Hour"].date() == entity["Day"]
        assert entity["At"].replace(minute=0, second=0, microsecond=0) == entity["Hour"]
    instants = [entity["At"] for entity in stored]
    assert instants == sorted(instants)
    assert len(set(instants)) == count


def test_the_same_seed_makes_the_same_entities_and_another_seed_others() -> None:
    shape = employees(200)
    assert made(shape) == made(shape)
    assert made(shape).stored != made(shape, "Another").stored


def test_another_process_makes_the_same_entities() -> None:
    program = (
        "from datetime import timedelta; from tablepatterns import Key; from tablepatterns_review import Field, Shape; "
        "from tablepatterns_review.measure.sample import sample; "
        "shape = Shape('E', 50, {'D': Field(distinct=5), 'N': Field('int32')}); "
        "print(hash('E'), sample('s', shape, [Key('{D}', '{N:03d}')], span=timedelta(1)).stored)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": "4711"}, capture_output=True, check=True
    ).stdout.decode()
    hashed, _, entities = answer.partition(" ")
    assert int(hashed) != hash("E")
    shape = Shape("E", 50, {"D": Field(distinct=5), "N": Field("int32")})
    assert entities.strip() == str(sample("s", shape, [Key("{D}", "{N:03d}")], span=timedelta(1)).stored)


def test_values_of_a_field_that_restarts_begin_with_one_in_each_group() -> None:
    fields = {"Order": Field(distinct=7), "Line": Field("int32", within="Order")}
    found = sample("Shop", Shape("Line", 100, fields), [Key("{Order}", "{Line:04d}")], span=YEAR)
    lines = Counter(each["Order"] for each in found.stored)
    for order, count in lines.items():
        assert sorted(each["Line"] for each in found.stored if each["Order"] == order) == list(range(1, count + 1))


@pytest.mark.parametrize(
    ("template", "field", "kind"),
    [
        ("{At:%Y-%m-%d}", Field("datetime", order="rising", distinct=30), "date"),
        ("{At:%Y-%m-%dT%H}", Field("datetime", order="rising"), "datetime"),
        ("{At:ticks}", Field("datetime", order="rising"), "datetime"),
        ("{At:uuid}", Field("guid"), "UUID"),
        ("{At:float}", Field("double"), "float"),
        ("{At:escape}", Field(size=40), "str"),
        ("{At:+08d}", Field("int64"), "Int64"),
    ],
)
def test_values_are_what_the_key_takes(template: str, field: Field, kind: str) -> None:
    key = Key("{User}", template)
    shape = Shape("Event", 40, {"User": Field(distinct=4), "At": field})
    for each in sample("Events", shape, [key], span=YEAR).stored:
        assert type(each["At"]).__name__ == kind
        assert key.parse(*key.format({name: each[name] for name in key.fields}))["User"] == each["User"]


@given(st.integers(1, 10**9), st.integers(1, 10**7), skews)
def test_a_smaller_shape_has_the_same_number_of_entities_for_each_value_where_there_are_many(
    count: int, distinct: int, skew: float
) -> None:
    shape = employees(count, min(distinct, count), 0.0)
    smaller = shrunk(shape, 1000)
    assert smaller.count == min(count, 1000)
    question = Query("employees of a department", {"Department": "="})
    if 200 * count / 1000 <= distinct <= count:
        assert found_by(smaller, question) == pytest.approx(found_by(shape, question), rel=0.15)


def test_a_shape_that_is_small_enough_stays_as_it_is() -> None:
    shape = employees(1000)
    assert shrunk(shape, 1000) is shape
    assert shrunk(shape, 999) is not shape


@given(counts, distincts, skews, skews)
def test_what_a_question_is_expected_to_find_is_what_it_finds_on_average(
    count: int, distinct: int, skew: float, asked: float
) -> None:
    """The mean over all entities, each as often as it is asked about."""
    shape = employees(count * 10, distinct, skew)
    ranks = Counter(made(shape).ranks["Department"])
    weights = {rank: rank**-asked for rank in range(1, values_of(shape, "Department").count + 1)}
    calculated = sum(ranks[rank] * weight for rank, weight in weights.items()) / sum(weights.values())
    question = Query("employees of a department", {"Department": "="}, skew=asked)
    assert found_by(shape, question) == pytest.approx(max(1.0, calculated), rel=0.02, abs=1.0)


def agreeing(ranks: Iterable[object]) -> float:
    """Return how many entities have the values of a random entity, which is one of them."""
    counts = Counter(ranks).values()
    return sum(count * count for count in counts) / sum(counts)


def test_any_two_fields_of_a_sample_are_independent() -> None:
    """Two fields whose orders depend on each other agree in too few entities, or in too many."""
    sizes = {2: 0.0, 3: 0.5, 4: 0.0, 7: 1.0, 10: 0.0, 16: 0.0, 20: 0.5, 30: 0.8, 50: 0.0, 80: 1.2}
    fields = {f"F{distinct}": Field(distinct=distinct, skew=skew) for distinct, skew in sizes.items()}
    shape = Shape("Thing", 1_000, {**fields, "Id": Field("int32")})
    samples = [sample(f"seed {seed}", shape, [Key("{Id:06d}", "x")], span=YEAR).ranks for seed in range(8)]
    for pair in combinations(fields, 2):
        alone = [agreeing(samples[0][name]) - 1 for name in pair]
        expected = 1 + alone[0] * alone[1] / (shape.count - 1)
        assert equal(shape, pair, None, pair) == pytest.approx(expected, rel=0.03)
        agree = [agreeing(zip(*(ranks[name] for name in pair), strict=True)) for ranks in samples]
        assert sum(agree) / len(agree) == pytest.approx(expected, rel=0.03), pair
        assert agree == pytest.approx([expected] * len(agree), rel=0.15), pair


@pytest.mark.parametrize("as_filter", [False, True], ids=["call", "filter"])
@pytest.mark.few(1)
def test_conditions_on_properties_return_what_a_program_gets(as_filter: bool) -> None:
    """The program stores all entities, and asks for the values of each of them; the review has a sixth of them."""
    fields = {
        "Queue": Field(distinct=12, skew=0.4),
        "TicketId": Field("int32"),
        "State": Field(distinct=5, skew=0.8),
        "Level": Field(distinct=9),
    }
    shape, key = Shape("Ticket", 6_000, fields), Key("{Queue}", "{TicketId:08d}")
    tickets = EntitySet(connect(Engine()), "Tickets", key)
    BulkLoad(tickets).load(sample("program", shape, [key], span=YEAR).stored)
    for name in ("State", "Level"):
        counts = Counter((row["Queue"], row[name]) for row in tickets.scan())
        returned = sum(
            count * sum(1 for _ in tickets.range(Queue=queue, where=prop(name) == value, allow=PARTITION_SCAN))
            for (queue, value), count in counts.items()
        )
        query = Query("tickets of a queue", {"Queue": "=", name: "="}, rate=1)
        if as_filter:
            query = Query("tickets of a queue", filter=f"PartitionKey eq 'a' and {name} eq 'b'", rate=1)
        design = Design("Tickets", (declare_set(tickets, shape=shape, queries=[query]),))
        assert measure(design)[0].returned == pytest.approx(returned / shape.count, rel=0.03)


def test_a_sample_keeps_as_many_keys_as_it_has_entities() -> None:
    """50 million entities whose key has two fields with few values each."""
    fields = {"A": Field(distinct=100_000), "B": Field("int32", distinct=600)}
    key = Key("{A}", "{B:03d}")
    smaller = shrunk(Shape("Thing", 50_000_000, fields), 1_000, key.fields)
    made = sample("s", smaller, [key], span=YEAR).stored
    assert len({key.keys_of(each) for each in made}) == 1_000
