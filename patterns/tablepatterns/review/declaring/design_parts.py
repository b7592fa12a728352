"""Design parts: keys, derived data and mappings, as a design file declares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from ...deriving.derived import Derived
from ...deriving.whereabouts import InBlobs, InPartition, InTable, Whereabouts
from ...errors import BadInput
from ...key import Key
from ...mapping import PropertyMapping
from ...recipes.denormalize import Denormalize
from ...recipes.encrypted_properties import EncryptedProperties
from ...recipes.index_entities import IndexEntities
from ...recipes.inter_partition_index import InterPartitionIndex
from ...recipes.intra_partition_index import IntraPartitionIndex
from ...recipes.large_properties import LargeProperties
from ...recipes.summary import Summary
from ...secrecy.keys import LocalKey
from .toml_tables import Section

T = TypeVar("T")

_STORES: Final = ("partition", "table", "container")
_SECRET: Final = bytes(range(32))
"""It encrypts what a review makes up, and nothing else."""


def tried(section: Section, make: Callable[[], T], *below: str | int) -> T | None:
    """Return what is made, or note at a key why it cannot be."""
    try:
        return make()
    except BadInput as error:
        section.note(str(error.message), *below)
        return None


def key_of(section: Section, name: str = "key", *, partition: str | None = None, row: str | None = None) -> Key | None:
    """Return the key that a table `{ partition = ..., row = ... }` spells.

    :param partition: the PartitionKey where none is given
    :param row: the RowKey where none is given
    """
    if name not in section and (partition is None or row is None):
        section.note(f"{name} is missing; give {name} = {{ partition = ..., row = ... }}")
        section.section(name)
        return None
    halves = section.section(name)
    first = halves.text("partition", partition) if partition is not None else halves.needed("partition")
    second = halves.text("row", row) if row is not None else halves.needed("row")
    halves.refuse_others()
    if first is None or second is None:
        return None
    return tried(section, lambda: Key(first, second), name)


def derived_of(section: Section, primary: Key) -> Derived | None:
    """Return the derived data that a table of `[[set.derived]]` declares; None where something is wrong with it.

    :param primary: the key of the set
    """
    pattern = section.text("pattern", "", one_of=tuple(_DERIVED))
    if not pattern:
        if "pattern" not in section:
            section.note(f"pattern is missing; give one of {', '.join(_DERIVED)}")
        return None
    made = _DERIVED[pattern](section, primary)
    section.refuse_others()
    return made


def mapping_of(section: Section) -> PropertyMapping | None:
    """Return the mapping that a table of `[[set.mappings]]` declares; None where something is wrong with it."""
    pattern = section.text("pattern", "", one_of=tuple(_MAPPINGS))
    if not pattern:
        if "pattern" not in section:
            section.note(f"pattern is missing; give one of {', '.join(_MAPPINGS)}")
        return None
    made = _MAPPINGS[pattern](section)
    section.refuse_others()
    return made


def _intra(section: Section, primary: Key) -> Derived | None:
    key = key_of(section, partition=primary.partition_template)
    include, name = _include(section), section.text("name")
    return None if key is None else tried(section, lambda: IntraPartitionIndex(key, include=include, name=name))


def _inter(section: Section, primary: Key) -> Derived | None:
    key, include, name = key_of(section), _include(section), section.text("name")
    table, unique = section.text("table"), section.flag("unique")
    return (
        None
        if key is None
        else tried(section, lambda: InterPartitionIndex(key, table=table, include=include, unique=unique, name=name))
    )


def _list(section: Section, primary: Key) -> Derived | None:
    fields, store, spread = section.texts("fields"), _store(section), section.whole("spread", 1, least=1) or 1
    key = key_of(section) if "key" in section else None
    section.offer("key")
    ids, name = section.text("ids", "Ids") or "Ids", section.text("name")
    return tried(
        section, lambda: IndexEntities(*fields, key=key, store=store, ids=ids, spread=spread, name=name), "fields"
    )


def _copies(section: Section, primary: Key) -> Derived | None:
    into, refers, copies = key_of(section, "into"), section.named_texts("refers"), section.named_texts("copies")
    store, name = _store(section), section.text("name")
    return (
        None
        if into is None
        else tried(section, lambda: Denormalize(into, refers=refers, copies=copies, store=store, name=name))
    )


def _totals(section: Section, primary: Key) -> Derived | None:
    key, sums, store = key_of(section), section.named_texts("sums"), _store(section)
    count, spread = section.text("count", "Count"), section.whole("spread", 1, least=1) or 1
    members, name = section.text("members", "Members") or "Members", section.text("name")
    return (
        None
        if key is None
        else tried(
            section,
            lambda: Summary(
                key, count=count or None, sums=sums, store=store, spread=spread, members=members, name=name
            ),
        )
    )


def _include(section: Section) -> tuple[str, ...] | None:
    return section.texts("include") if "include" in section else None


def _store(section: Section) -> Whereabouts | None:
    """Return where derived rows are: `"partition"`, `"table"`, `{ table = ... }` or `{ container = ... }`."""
    table = section.text("table")
    if "store" not in section:
        section.text("store")
        return InTable(table) if table else None
    store = section.named_texts("store") if section.is_table("store") else {section.text("store") or "": ""}
    match store:
        case {"partition": ""}:
            return InPartition()
        case {"table": name}:
            return InTable(name or table)
        case {"container": name} if name:
            return InBlobs(name)
        case _:
            section.note('store is "partition", "table", { table = ... } or { container = ... }', "store")
            return None


def _encrypted(section: Section) -> PropertyMapping | None:
    names = section.texts("names")
    return tried(section, lambda: EncryptedProperties(names, keys=LocalKey("review", _SECRET)), "names")


def _large(section: Section) -> PropertyMapping | None:
    names, container = section.texts("names"), section.needed("container")
    above = section.whole("above")
    options = {} if above is None else {"above": above}
    return tried(section, lambda: LargeProperties(names, container=container, **options)) if container else None


_DERIVED: Final[Mapping[str, Callable[[Section, Key], Derived | None]]] = {
    "intra_partition_index": _intra,
    "inter_partition_index": _inter,
    "index_entities": _list,
    "denormalize": _copies,
    "summary": _totals,
}
_MAPPINGS: Final[Mapping[str, Callable[[Section], PropertyMapping | None]]] = {
    "encrypted_properties": _encrypted,
    "large_properties": _large,
}
