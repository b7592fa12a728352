"""Write the module that declares a design: its models, keys, derived data, sets and access patterns."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived, Index
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.key import Key
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary

from ..design.key_parts import pieces_of_key
from ..design.model import DeclaredSet, Design
from ..kinds import kind_of
from ..kinds.recipes import holds_copies
from ..plans.planner import FIELD_TYPES
from ..python_source import CodeNames, Names, array, call, camel, declaration, snake, text
from ..templates import environment

_TYPES: Final = {name: kind.__name__ for name, kind in FIELD_TYPES.items()} | {"datetime": "datetime"}
_IMPORTS: Final = """\
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

from tablepatterns import (Archive, BlobArchive, CopiedFields, DataSeries, EncryptedProperties, EntitySet, InBlobs,
    IndexEntity, InPartition, InTable, Int64, InterPartitionIndex, IntraPartitionIndex, Key, LargeProperties, LocalKey,
    LogTail, PartitionSpread, Period, PeriodTables, Storage, Summary, WideEntity, connect)
from tablepatterns_review import Access, ArchivePolicy, Design, Field, Query, Retention, Shape, Write, declare_set"""
"""What a module may need; `ruff` removes the rest."""
_OWN: Final = ("Sets", "declare", "design", "sets", "storage", "key", "account", "table", "annotations")
"""What the module defines in addition to the parts of the design."""


def _has_model(declared_set: DeclaredSet) -> bool:
    """Whether a dataclass with these fields can be the model of a set: keys name the fields of the class."""
    names = declared_set.shape.fields
    if not kind_of(declared_set).groups_writes or not set(declared_set.key.fields).issubset(names):
        return False
    return all(
        name.isascii()
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and name not in _TYPES.values()
        for name in names
    ) and all(set(derived.reads).issubset(names) for derived in declared_set.derived)


def render(template: str, **values: object) -> str:
    # Texts of the design are literals, so nothing is escaped
    return environment(__name__).get_template(template).render(values, imports=_IMPORTS)


class Module:
    """The module of a design, with the names of its sets, models, keys and archives by the name of the set."""

    def __init__(self, design: Design) -> None:
        self.design = design
        names = Names([*_OWN, *re.findall(r"\w+", _IMPORTS)])
        sets = design.sets
        self.sets = {of.name: names.new(snake(of.name)) for of in sets}
        self.models = {of.name: names.new(camel(of.shape.entity)) for of in sets if _has_model(of)}
        self.keys = {of.name: names.new(f"{self.sets[of.name]}_key".upper()) for of in sets}
        self.derived = {
            (of.name, number): names.new(f"{self.sets[of.name]}_{snake(_name_of(of, via))}".upper())
            for of in sets
            for number, via in enumerate(of.derived)
            if of.profile(via).filled_from is None
        }
        self.archives = {of.name: names.new(f"{self.sets[of.name]}_archive") for of in sets if of.archive}

    def text(self) -> str:
        design = self.design
        types = {self.sets[of.name]: kind_of(of).code_type(of, self.models.get(of.name)) for of in design.sets}
        for name, archive in self.archives.items():
            types[archive] = f"Archive[Storage, {self.models[name]}]" if name in self.models else "Archive[Storage]"
        return render(
            "sets.py.jinja",
            notes=comment(self._notes()),
            models={self.models[of.name]: _model_types(of) for of in design.sets if of.name in self.models},
            constants=dict(self._constants()),
            types=types,
            encrypts=self.encrypts,
            makes=list(self._makes()),
            name=text(design.name),
            sets=[self._declared(declared_set) for declared_set in design.sets],
            years=None if design.years == Design("", ()).years else repr(design.years),
        )

    @cached_property
    def encrypts(self) -> bool:
        mappings = (mapping for declared_set in self.design.sets for mapping in declared_set.mappings)
        return any(isinstance(mapping, EncryptedProperties) for mapping in mappings)

    def _notes(self) -> Iterator[str]:
        for declared_set in self.design.sets:
            if declared_set.name not in self.models:
                name = text(declared_set.name)
                yield f"Not written: a model of {name}; its entities are mappings, as its recipe or fields need"
            for write in declared_set.writes:
                if write.atomic_with:
                    others = ", ".join(map(text, write.atomic_with))
                    yield f"Not written: the transaction of {text(write.name)} with {others}"
        yield from (f"Corrected: {text(f'{flaw.subject}: {flaw.says}')}" for flaw in self.design.flaws)

    def _constants(self) -> Iterator[tuple[str, str]]:
        for declared_set in self.design.sets:
            yield self.keys[declared_set.name], _key(declared_set.key)
            for number, via in enumerate(declared_set.derived):
                if (name := self.derived.get((declared_set.name, number))) is not None:
                    yield name, _derived(declared_set, via)

    # -- Sets

    def _makes(self) -> Iterator[list[str]]:
        for declared_set in sorted(self.design.sets, key=holds_copies):
            yield kind_of(declared_set).code(declared_set, self._names(declared_set))
        for declared_set in self.design.sets:
            if (policy := declared_set.archive) is not None:
                blobs = call("BlobArchive", "storage", text(policy.container or ""))
                target = blobs if policy.to is None else self.sets[policy.to]
                archive = call("Archive", self.sets[declared_set.name], target)
                yield [f"{self.archives[declared_set.name]} = {archive}"]

    def _names(self, declared_set: DeclaredSet) -> CodeNames:
        derived = [self._bound(declared_set, number, derived) for number, derived in enumerate(declared_set.derived)]
        parts = {"derived": derived, "mappings": list(map(_mapping, declared_set.mappings))}
        return CodeNames(
            self.sets[declared_set.name],
            self.keys[declared_set.name],
            self.models.get(declared_set.name),
            {name: array(values) for name, values in parts.items() if values},
        )

    def _bound(self, declared_set: DeclaredSet, number: int, via: Derived) -> str:
        """Return the constant of derived data, or the copies of another set with which this one is filled."""
        if (constant := self.derived.get((declared_set.name, number))) is not None:
            return constant
        copies = declared_set.profile(via).filled_from
        for source in self.design.sets:
            for at, derived in enumerate(source.derived):
                if derived is copies:
                    return f"{self.derived[source.name, at]}.filled_from({self.sets[source.name]})"
        raise TypeError(f"no set has the copies of {via.name}")

    # -- The design

    def _declared(self, declared_set: DeclaredSet) -> dict[str, object]:
        shape = declared_set.shape
        fields = ", ".join(f"{text(name)}: {declaration(field)}" for name, field in shape.fields.items())
        growth = [f"growth={shape.growth!r}"] if shape.growth else []
        accesses = {"queries": declared_set.queries, "writes": declared_set.writes, "access": declared_set.access}
        policies = {"retention": declared_set.retention, "archive": declared_set.archive}
        return {
            "attribute": self.sets[declared_set.name],
            "name": text(declared_set.name),
            "shape": [text(shape.entity), str(shape.count), f"{{{fields}}}", *growth],
            "accesses": {name: list(map(declaration, values)) for name, values in accesses.items()},
            "policies": {name: declaration(policy) for name, policy in policies.items() if policy is not None},
            "pattern": None if kind_of(declared_set).has_own_recipe else text(declared_set.pattern),
        }


def _name_of(declared_set: DeclaredSet, via: Derived) -> str:
    """Return the name of derived data; if it is only the template of a key, what it is sorted by."""
    if "{" not in via.name:
        return via.name
    key = declared_set.profile(via).key
    names = [] if key is None else [name for name in key.fields if name not in declared_set.key.partition_fields]
    return f"by_{names[0]}" if names else type(via).__name__


def _model_types(declared_set: DeclaredSet) -> dict[str, str]:
    fields = declared_set.shape.fields
    return {name: "date" if is_date(declared_set, name) else _TYPES[field.type] for name, field in fields.items()}


def _key(key: Key) -> str:
    most = None if key.max_units == Key("a", "b").max_units else str(key.max_units)
    return call("Key", text(key.partition_template), text(key.row_template), max_units=most)


def _derived(declared_set: DeclaredSet, via: Derived) -> str:
    name = text(via.name)
    key = _key(via.key) if isinstance(via, Index) else ""
    match via:
        case IntraPartitionIndex():
            return call("IntraPartitionIndex", key, include=_names(via.include), name=name)
        case InterPartitionIndex():
            table = text(via.placement.name) if isinstance(via.placement, InTable) and via.placement.name else None
            unique, include = "True" if via.is_unique else None, _names(via.include)
            return call("InterPartitionIndex", key, table=table, include=include, unique=unique, name=name)
        case IndexEntity():
            default = IndexEntity(*via.fields, spread=via.spread)
            is_default = via.layout(declared_set.key) == default.layout(declared_set.key)
            is_default = is_default and set(via.reads) == set(default.reads)
            return call(
                "IndexEntity",
                *map(text, via.fields),
                store=_store(via.placement),
                ids=text(via.key_list.name),
                spread=str(via.spread),
                name=name,
                key=None if is_default else _spread_key(via.layout(declared_set.key), via.spread),
            )
        case CopiedFields():
            refers, copies, store = repr(dict(via.refers)), repr(dict(via.copies)), _store(via.placement)
            return call("CopiedFields", _key(via.key), refers=refers, copies=copies, store=store, name=name)
        case Summary():
            return call(
                "Summary",
                _spread_key(via.layout, via.spread),
                count="None" if via.count is None else text(via.count),
                sums=repr(dict(via.sums)) if via.sums else None,
                store=_store(via.placement),
                spread=str(via.spread),
                members=text(via.key_list.name),
                name=name,
            )
        case _:
            raise TypeError(f"a design file declares no {type(via).__name__}")


def _spread_key(key: Key, spread: int) -> str:
    """Return the declared key: that of the rows, without their number if each value has several."""
    row = key.row_template.rpartition("_{")[0] if spread > 1 else key.row_template
    return _key(Key(key.partition_template, row, max_units=key.max_units))


def _store(store: Any) -> str:
    match store:
        case InTable():
            return call("InTable", *([] if store.name is None else [text(store.name)]))
        case InBlobs():
            return call("InBlobs", text(store.container))
        case _:
            return call("InPartition")


def _mapping(mapping: Any) -> str:
    names = _names(mapping.fields) or "[]"
    if isinstance(mapping, LargeProperties):
        return call("LargeProperties", names, container=text(mapping.container), above=str(mapping.above))
    return call("EncryptedProperties", names, keys="key")


def _names(names: Iterable[str] | None) -> str | None:
    return None if names is None else array(map(text, sorted(names)))


def is_date(declared_set: DeclaredSet, name: str) -> bool:
    """Whether the values of a field are days, as the format in a key says."""
    pieces = [piece for key in declared_set.keys for piece in pieces_of_key(key)]
    spec = next((piece.spec or "" for piece in pieces if piece.name == name), "")
    return declared_set.shape.fields[name].type == "datetime" and "%" in spec and "%H" not in spec


def comment(paragraphs: Iterable[str]) -> str:
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph, 86, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
    return "\n".join(lines)
