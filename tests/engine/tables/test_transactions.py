"""Entity group transactions: atomicity, and the index of the failed operation."""

from __future__ import annotations

import pytest

from support.table_states import Rejected, all_keys, delete, insert, op
from tablepatterns_engine.errors import TransactionError
from tablepatterns_engine.tables.service import Tables

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


def test_the_first_bad_operation_is_the_one_that_is_named(tables: Tables, rejected: Rejected) -> None:
    with rejected("ResourceNotFound", "1:" + NOT_FOUND):
        tables.transact("People", [insert("p", "r"), delete("p", "a"), delete("p", "b")])


def test_the_error_carries_the_position_and_what_was_rejected(tables: Tables) -> None:
    with pytest.raises(TransactionError) as caught:
        tables.transact("People", [insert("p", "r"), delete("p", "a")])
    assert (caught.value.index, caught.value.prefixed) == (1, True)
    assert caught.value.error_message.text == NOT_FOUND


def test_a_deleted_partition_is_gone_when_a_transaction_empties_it(tables: Tables) -> None:
    tables.transact("People", [insert("p", str(n)) for n in range(10)])
    tables.transact("People", [delete("p", str(n)) for n in range(10)])
    assert all_keys(tables, "People") == []
