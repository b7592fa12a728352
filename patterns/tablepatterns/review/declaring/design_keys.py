"""Design keys: every key of a design file, with what it says; the documentation is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "The file": {
        "name": "the title of the report",
        "years": "how far ahead to look; 3",
        "set": "`[[set]]`, a table for each set of entities",
    },
    "[[set]]": {
        "name": "what the report calls the set",
        "table": "the table of its entities; by default `name`",
        "pattern": "what keeps it: `entity_set` (the default), `compound_key`, `one_to_many`, `one_to_one`, "
        "`log_tail`, `partition_spread`, `period_tables`, `data_series` or `wide_entity`",
        "key": '`{ partition = "...", row = "..." }`, templates as `Key` takes them; '
        "of a `log_tail` the partition alone",
        "entity": "the name of the entity type; by default `name`",
        "count": "how many entities there are now",
        "growth": "how many more there are after a year; 0",
        "retention": '`{ days = 90, by = "entity" }`; `by = "table"` where the table of a period is dropped',
        "fields": "`[set.fields]`, a table for each property",
        "derived": "`[[set.derived]]`, what is kept with the entities",
        "mappings": "`[[set.mappings]]`, how properties are stored that are not stored as they are",
        "query": "`[[set.query]]`, an access pattern that reads",
        "write": "`[[set.write]]`, an access pattern that writes",
        "buckets": "of a `partition_spread`: over how many partitions one is spread; 16",
        "by": "of a `partition_spread`: the fields of the key by which they are chosen; by default all",
        "bucket": "of a `partition_spread`: the field that holds the number; `Bucket`",
        "period": "of `period_tables`: `hour`, `day` (the default), `week` or `month`",
        "inner": "of `period_tables`: what keeps a table, `entity_set` (the default) or `log_tail`",
        "at": "of `period_tables` and a `log_tail`: the field that holds the instant; `At`",
        "entry": "of a `log_tail`: the field that holds the id; `EntryId`",
        "row_prefix": "of a `log_tail`: what the RowKey begins with; nothing",
        "points": "of a `data_series`: how many points it has",
        "point_name": "of a `data_series`: what the properties of the points are called, before their number",
        "of": "of a `data_series`: the type of the points: `int` (the default), `Int64`, `float` or `bool`",
        "split": "of a `data_series`: whether it goes over several rows; false",
        "fixed": "of a `wide_entity`: whether the fields are all the properties that there ever are; false",
    },
    "[set.fields]": {
        "type": "`string` (the default), `int32`, `int64`, `double`, `boolean`, `datetime`, `guid` or `binary`",
        "size": "the characters of a text, the bytes of a binary; 16",
        "largest": "the longest that there is; by default `size`",
        "distinct": "how many different values there are; where it is left out, each entity has its own",
        "skew": "how unevenly values occur: the exponent of a Zipf distribution; 0, which is evenly",
        "order": "`rising` if new entities have higher values than older ones; `none`",
        "within": "the field within whose values this one is numbered anew",
        "secret": "whether it must not be readable by whoever can read the table; false",
    },
    "[[set.derived]] and [[set.mappings]]": {
        "pattern": "of derived data: `intra_partition_index`, `inter_partition_index`, `index_entities`, "
        "`denormalize` or `summary`; of a mapping: `encrypted_properties` or `large_properties`",
        "key": "the key of the rows; of an `intra_partition_index` in the set's partition, if none is given",
        "name": "what reports call it",
        "include": "of an index: the properties that its rows hold besides those of both keys; by default all",
        "table": "where the rows are in another table: its name",
        "unique": "of an `inter_partition_index`: whether a second entity with the same key is refused; false",
        "fields": "of `index_entities`: the fields by whose values to find entities",
        "store": 'of lists, copies and totals: `"partition"` (the default), `"table"` or `{ container = "..." }`',
        "ids": "of `index_entities`: the property that holds the list; `Ids`",
        "spread": "of `index_entities` and a `summary`: over how many rows; 1",
        "into": "of `denormalize`: the key of the entities with the copies",
        "refers": "of `denormalize`: for each field of the copied entity's key the field that refers to it",
        "copies": "of `denormalize`: for each field to copy the field that holds the copy",
        "filled_from": "of `denormalize`, in the set with the copies: the set that is copied from, "
        "in place of the others",
        "count": "of a `summary`: the property that holds the count; `Count`, and an empty text for none",
        "sums": "of a `summary`: for each field to add up the property that holds the sum",
        "members": "of a `summary`: the property that lists, elsewhere, the entities of a group; `Members`",
        "names": "of a mapping: the properties that it stores",
        "container": "of `large_properties`: the container of the blobs",
        "above": "of `large_properties`: up to how many bytes a value stays in the entity",
    },
    "[[set.query]]": {
        "name": "what is asked, such as `employee by e-mail`",
        "known": 'what the question gives: `{ Department = "=", At = "range", Email = "prefix" }`',
        "filter": "a filter as it is sent, in place of `known`",
        "order": "the field by which results must come; with a `-` in front, the highest first",
        "take": "how many results are wanted; where it is left out, all",
        "select": "the properties that are wanted; where it is left out, all",
        "results": "how many entities answer it, where `known` has a range or a beginning; by default a tenth of those "
        "that the rest of the question leaves",
        "rate": "how often it is asked in a second, on average over a day; 0",
        "peak": "how often at the busiest time; by default `rate`",
        "skew": "how unevenly what is asked for is chosen: the exponent of a Zipf distribution; 0, which is evenly",
        "fresh": "for how many seconds an answer may be older than the last write; 0",
    },
    "[[set.write]]": {
        "name": "what happens, such as `hire`",
        "deed": "`insert`, `update` or `delete`",
        "changes": "the properties that an update changes; where it is left out, all but those of the key",
        "rate": "how often it is done in a second, on average over a day; 0",
        "peak": "how often at the busiest time; by default `rate`",
        "skew": "how unevenly the entities are chosen; 0, which is evenly",
        "writers": "how many processes write at a time; 1",
        "together": "the writes of other sets that must happen with this one, or not at all",
    },
}


def as_markdown() -> str:
    """Return the keys as a page of documentation shows them: a table for each kind of table.

    >>> as_markdown().splitlines()[:5]
    ['### The file', '', '| key | what it says |', '|---|---|', '| `name` | the title of the report |']
    """
    parts: list[str] = []
    for table, keys in KEYS.items():
        heading = f"`{table}`" if table.startswith("[") and " and " not in table else table
        parts += [f"### {heading}", "", "| key | what it says |", "|---|---|"]
        parts += [f"| `{key}` | {meaning.replace('|', chr(92) + '|')} |" for key, meaning in keys.items()]
        parts.append("")
    return "\n".join(parts)
