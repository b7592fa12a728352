"""Entity group transactions: atomicity, and the index of the failed operation."""

from __future__ import annotations

import pytest

from support.table_states import Rejected, all_keys, delete, insert, op
from tablepatterns_engine.errors import TransactionError
from tablepatterns_engine.tables.entities import Value
from tablepatterns_engine.tables.service import Operation, Tables

NOT_FOUND = "The specified resource does not exist."


@pytest.mark.guide("G-069")
def test_a_transaction_mixes_all_kinds_of_write(tables: Tables) -> None:
    for row in "bcd":
        tables.apply("People", insert("p", row, Old=1))
    made = tables.transact(
        "People",
        [
            insert("p", "a", New=1),
            op("replace", "p", "b", "*", New=2),
            op("merge", "p", "c", tables.get("People", "p", "c").etag, New=3),
            delete("p", "d"),
            op("insert_or_replace", "p", "e", New=5),
            op("insert_or_merge", "p", "f", New=6),
        ],
    )
    found = {entity.row_key: dict(entity.properties) for entity in tables.query("People").entities}
    assert found == {"a": {"New": 1}, "b": {"New": 2}, "c": {"Old": 1, "New": 3}, "e": {"New": 5}, "f": {"New": 6}}
    assert [entity and entity.row_key for entity in made] == ["a", "b", "c", None, "e", "f"]
    assert len({entity.etag for entity in made if entity}) == 1


def test_a_transaction_of_nothing_does_nothing_even_in_no_table(tables: Tables) -> None:
    assert tables.transact("People", []) == tables.transact("Nobody", []) == []


@pytest.mark.guide("G-065")
def test_a_transaction_has_100_operations_and_not_101(tables: Tables, rejected: Rejected) -> None:
    operations = [insert("p", f"{n:03}") for n in range(101)]
    assert len(tables.transact("People", operations[:100])) == 100
    text = "99:The batch request operation exceeds the maximum 100 changes per change set."
    with rejected("InvalidInput", text):
        tables.transact("People", [insert("q", operation.row_key) for operation in operations])


def test_two_operations_on_one_entity_are_rejected(tables: Tables, rejected: Rejected) -> None:
    text = (
        "1:The batch request contains multiple changes with same row key. "
        "An entity can appear only once in a batch request."
    )
    with rejected("InvalidDuplicateRow", text):
        tables.transact("People", [insert("p", "r"), delete("p", "r")])


def test_operations_on_two_partitions_are_rejected(tables: Tables, rejected: Rejected) -> None:
    text = "1:All commands in a batch must operate on same entity group."
    with rejected("CommandsInBatchActOnDifferentPartitions", text):
        tables.transact("People", [insert("p", "r"), insert("q", "r")])


FAILING: list[tuple[Operation, str, str]] = [
    (insert("p", "old"), "EntityAlreadyExists", "The specified entity already exists."),
    (delete("p", "none"), "ResourceNotFound", NOT_FOUND),
    (op("merge", "p", "none", "*"), "ResourceNotFound", NOT_FOUND),
    (
        op("replace", "p", "old", "W/\"datetime'2001-01-01T00%3A00%3A00Z'\""),
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    ),
    (
        insert("p", "new", Value=b"x" * 65537),
        "PropertyValueTooLarge",
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "
        "encoded and the maximum number of characters should be 32K or less.",
    ),
]
IDS = [code for _, code, _ in FAILING]


@pytest.mark.guide("G-068", "G-072")
@pytest.mark.parametrize(("bad", "code", "text"), FAILING, ids=IDS)
@pytest.mark.parametrize("position", [0, 3, 99])
def test_one_bad_operation_undoes_all_and_is_named(
    tables: Tables, rejected: Rejected, bad: Operation, code: str, text: str, position: int
) -> None:
    tables.apply("People", insert("p", "old", Age=34))
    operations = [op("insert_or_merge", "p", f"{n:03}", Age=n) for n in range(99)]
    operations.insert(position, bad)
    with rejected(code, f"{position}:{text}"):
        tables.transact("People", operations)


@pytest.mark.parametrize(("bad", "code", "text"), FAILING, ids=IDS)
def test_what_the_storage_rejects_of_a_single_operation_has_no_index(
    tables: Tables, rejected: Rejected, bad: Operation, code: str, text: str
) -> None:
    tables.apply("People", insert("p", "old", Age=34))
    with rejected(code, text):
        tables.transact("People", [bad])


def test_what_the_front_end_rejects_of_a_single_operation_has_an_index(tables: Tables, rejected: Rejected) -> None:
    with rejected("OutOfRangeInput", "0:The 'RowKey' parameter of value 'a/b' is out of range."):
        tables.transact("People", [insert("p", "a/b")])
    with rejected("PropertyNameInvalid", "0:The property name is invalid."):
        tables.transact("People", [insert("p", "r", **{"first-name": "x"})])


def test_the_first_bad_operation_is_the_one_that_is_named(tables: Tables, rejected: Rejected) -> None:
    with rejected("ResourceNotFound", "1:" + NOT_FOUND):
        tables.transact("People", [insert("p", "r"), delete("p", "a"), delete("p", "b")])


def test_the_error_carries_the_position_and_what_was_rejected(tables: Tables) -> None:
    with pytest.raises(TransactionError) as caught:
        tables.transact("People", [insert("p", "r"), delete("p", "a")])
    assert (caught.value.index, caught.value.prefixed) == (1, True)
    assert caught.value.error_message.text == NOT_FOUND


@pytest.mark.guide("G-070")
def test_entities_of_one_transaction_may_have_different_properties(tables: Tables) -> None:
    shapes: list[dict[str, Value]] = [{"Age": 34}, {"Age": "old", "City": "Graz"}, {}]
    tables.transact("People", [insert("p", str(n), **shape) for n, shape in enumerate(shapes)])
    assert [dict(entity.properties) for entity in tables.query("People").entities] == shapes


def test_a_deleted_partition_is_gone_when_a_transaction_empties_it(tables: Tables) -> None:
    tables.transact("People", [insert("p", str(n)) for n in range(10)])
    tables.transact("People", [delete("p", str(n)) for n in range(10)])
    assert all_keys(tables, "People") == []
