"""KeyList: lists of keys in the properties of a row."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tablepatterns.edm import ordinal, utf16_length
from tablepatterns.entity_set.shared_rows import KeyList
from tablepatterns.limits import FORBIDDEN_IN_KEYS, MAX_STRING_UNITS

texts = st.text(max_size=12).filter(lambda text: not re.search(FORBIDDEN_IN_KEYS, text))
keys = st.tuples(texts, texts)
notes = st.sampled_from(["", "1", "1,-20"])


@given(entries=st.dictionaries(keys, notes, max_size=8), local=st.booleans(), partition=texts)
def test_a_list_reads_back_as_it_was_written(entries: Any, local: bool, partition: str) -> None:
    key_list = KeyList("Ids", local)
    row = {"PartitionKey": partition, "RowKey": "any", **key_list.properties(partition, entries)}
    assert key_list.entries(row) == entries


@given(entries=st.dictionaries(keys, notes, max_size=8))
def test_a_list_is_in_the_order_of_the_keys_on_the_service(entries: Any) -> None:
    key_list = KeyList("Ids", local=False)
    row = {"PartitionKey": "p", **key_list.properties("p", entries)}
    assert list(key_list.entries(row)) == sorted(entries, key=lambda key: (ordinal(key[0]), ordinal(key[1])))


def test_a_list_continues_in_a_second_property_after_exactly_64_kib() -> None:
    key_list = KeyList("Ids", local=True)
    half = MAX_STRING_UNITS // 2
    fits = {("p", "a" * half): "", ("p", "b" * (half - 1)): ""}
    assert [utf16_length(part) for part in key_list.properties("p", fits).values()] == [MAX_STRING_UNITS]
    over = {("p", "a" * half): "", ("p", "b" * half): ""}
    assert list(key_list.properties("p", over)) == ["Ids", "Ids2"]
    assert key_list.entries({"PartitionKey": "p", **key_list.properties("p", over)}) == over


def test_a_row_without_the_property_has_no_list() -> None:
    key_list = KeyList("Ids", local=True)
    assert not key_list.is_in({"PartitionKey": "p", "Ids": 5})
    assert key_list.entries({"PartitionKey": "p"}) == {}
    assert key_list.without({"PartitionKey": "p", "Ids": "a", "Ids2": "b", "Age": 3}) == {"PartitionKey": "p", "Age": 3}
