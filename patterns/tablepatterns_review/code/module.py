"""Write the module that declares a design: its models, keys, derived data, sets and access patterns."""

from __future__ import annotations

import ast
import keyword
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.key import Key
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary

from ..design.model import DeclaredSet, Design, FieldType
from ..key_parts import pieces_of
from ..kinds import KINDS
from ..measure.sample import holds_copies
from . import logs
from .layout import Brackets, Expression, Names, call, camel, declared, entries, lines_of, listed, literal, snake, text

_TYPES: Final[Mapping[FieldType, str]] = {
    "string": "str",
    "int32": "int",
    "int64": "Int64",
    "double": "float",
    "boolean": "bool",
    "datetime": "datetime",
    "guid": "UUID",
    "binary": "bytes",
}
PLAIN_CALLS: Final = tuple(name for name, kind in KINDS.items() if kind.groups_writes)
"""Patterns whose sets have the methods of an `EntitySet`, and can have a model."""
_SHARED: Final = (
    *("Annotated", "CopiedFields", "DataSeries", "DeclaredSet", "Design", "EncryptedProperties", "EntitySet", "Field"),
    *("InBlobs", "InPartition", "InTable", "IndexEntity", "Int64", "InterPartitionIndex", "IntraPartitionIndex", "Key"),
    *("LargeProperties", "LocalKey", "LogTail", "PartitionSpread", "Period", "PeriodTables", "Query", "Retention"),
    *("Access", "Sets", "Shape", "Storage", "Summary", "UUID", "WideEntity", "Write", "connect", "dataclass", "date"),
    *("datetime", "declare", "declare_set", "design", "key", "replace", "sets", "storage", "timedelta", "account"),
    *("table", "timezone", "annotations", "NOW", "Clock", "Engine", "Entity", "Iterator", "QueryClass", "Traffic"),
    *("between", "change", "found", "parse", "prefix", "pytest", "traffic", "BlobLog", "LogRead", "LogWrite"),
    *("begin", "declare_log", "worker", "Archive", "ArchivePolicy", "BlobArchive", "Worker"),
)
"""What the two modules import and define in addition to the parts of the design."""


@dataclass(frozen=True)
class Parts:
    """What the parts of a design are called in Python.

    :param sets: the attribute of each set and blob log, by its name
    :param models: the model of each set that has one, by the name of the set
    :param keys: the constant of the key of each set
    :param derived: the constant of derived data, by the name of the set and its number
    :param archives: the attribute of the archive of a set, by the name of the set
    """

    sets: Mapping[str, str]
    models: Mapping[str, str]
    keys: Mapping[str, str]
    derived: Mapping[tuple[str, int], str]
    archives: Mapping[str, str]

    @classmethod
    def of(cls, design: Design) -> Parts:
        """Name the parts of a design."""
        names = Names(_SHARED)
        sets = {declared_part.name: names.new(snake(declared_part.name)) for declared_part in design.parts}
        models = {
            declared_set.name: names.new(camel(declared_set.shape.entity))
            for declared_set in design.sets
            if _has_model(declared_set)
        }
        keys = {declared_set.name: names.new(f"{sets[declared_set.name]}_key".upper()) for declared_set in design.sets}
        derived = {
            (declared_set.name, number): names.new(f"{sets[declared_set.name]}_{snake(via.name)}".upper())
            for declared_set in design.sets
            for number, via in enumerate(declared_set.derived)
            if declared_set.profile(via).filled_from is None
        }
        archives = {
            declared_set.name: names.new(f"{sets[declared_set.name]}_archive")
            for declared_set in design.sets
            if declared_set.archive
        }
        return cls(sets, models, keys, derived, archives)


def _has_model(declared_set: DeclaredSet) -> bool:
    """Whether a dataclass with these fields can be the model of a set: keys name the fields of the class."""
    names = declared_set.shape.fields
    if declared_set.pattern not in PLAIN_CALLS or not set(declared_set.key.fields).issubset(names):
        return False
    return all(
        name.isascii()
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and name not in _TYPES.values()
        for name in names
    ) and all(set(derived.reads).issubset(names) for derived in declared_set.derived)


@dataclass
class Module:
    """The module of a design.

    :param design: the design
    :param parts: what its parts are called
    """

    design: Design
    parts: Parts

    def text(self) -> str:
        """Return the text of the module."""
        models = [line for declared_set in self.design.sets for line in self._model(declared_set)]
        parts = [*models, *self._constants()]
        body = [*parts, *(["", ""] if parts else []), *self._sets()]
        body += ["", "", *self._declare(), "", "", *self._design()]
        head = ['"""Sets of entities, written by `tablepatterns review --code`."""', ""]
        notes = [f"Not written: {text}" for text in self._not_written()]
        notes += [f"Corrected: {text(f'{flaw.subject}: {flaw.says}')}" for flaw in self.design.flaws]
        head += [*comment(notes), *([""] if notes else [])]
        head += ["from __future__ import annotations", "", *import_lines(body)]
        return "\n".join([*head, *([""] if parts and not models else ["", ""]), *body]) + "\n"

    @cached_property
    def encrypts(self) -> bool:
        """Whether the sets need a key."""
        return any(
            isinstance(mapping, EncryptedProperties)
            for declared_set in self.design.sets
            for mapping in declared_set.mappings
        )

    def _not_written(self) -> list[str]:
        lines: list[str] = []
        for declared_set in self.design.sets:
            if declared_set.name not in self.parts.models:
                lines.append(
                    f"a model of {text(declared_set.name)}; its entities are mappings, as its recipe or fields need"
                )
            for write in declared_set.writes:
                if write.atomic_with:
                    others = ", ".join(map(text, write.atomic_with))
                    lines.append(f"the transaction of {text(write.name)} with {others}")
        return lines

    def _model(self, declared_set: DeclaredSet) -> list[str]:
        name = self.parts.models.get(declared_set.name)
        if name is None:
            return []
        lines = ["@dataclass", f"class {name}:"]
        for field_name, of in declared_set.shape.fields.items():
            lines.append(f"    {field_name}: {'date' if is_date(declared_set, field_name) else _TYPES[of.type]}")
        return [*lines, "", ""]

    def _constants(self) -> list[str]:
        lines: list[str] = []
        for declared_set in self.design.sets:
            lines += lines_of(f"{self.parts.keys[declared_set.name]} = ", self._key(declared_set.key))
            for number, via in enumerate(declared_set.derived):
                if (name := self.parts.derived.get((declared_set.name, number))) is not None:
                    lines += lines_of(f"{name} = ", self._derived(declared_set, via))
        return lines

    def _key(self, key: Key) -> Brackets:
        most = None if key.max_units == Key("a", "b").max_units else str(key.max_units)
        return call("Key", text(key.partition_template), text(key.row_template), max_units=most)

    def _derived(self, declared_set: DeclaredSet, via: Derived) -> Brackets:
        name = text(via.name)
        match via:
            case IntraPartitionIndex():
                return call("IntraPartitionIndex", self._key(via.key), include=_names(via.include), name=name)
            case InterPartitionIndex():
                table = text(via.placement.name) if isinstance(via.placement, InTable) and via.placement.name else None
                unique = "True" if via.is_unique else None
                key, include = self._key(via.key), _names(via.include)
                return call("InterPartitionIndex", key, table=table, include=include, unique=unique, name=name)
            case IndexEntity():
                options: dict[str, Expression | None] = {"store": self._store(via.placement)}
                options |= {"ids": text(via.key_list.name), "spread": str(via.spread), "name": name}
                default = IndexEntity(*via.fields, spread=via.spread)
                if via.layout(declared_set.key) != default.layout(declared_set.key) or set(via.reads) != set(
                    default.reads
                ):
                    options["key"] = self._spread_key(declared_set, via)
                return call("IndexEntity", *map(text, via.fields), **options)
            case CopiedFields():
                refers, copies = entries(via.refers), entries(via.copies)
                store = self._store(via.placement)
                return call("CopiedFields", self._key(via.key), refers=refers, copies=copies, store=store, name=name)
            case Summary():
                return self._summary(declared_set, via)
            case _:
                raise TypeError(f"a design file declares no {type(via).__name__}")

    def _summary(self, declared_set: DeclaredSet, via: Summary) -> Brackets:
        return call(
            "Summary",
            self._spread_key(declared_set, via),
            count="None" if via.count is None else text(via.count),
            sums=entries(via.sums) if via.sums else None,
            store=self._store(via.placement),
            spread=str(via.spread),
            members=text(via.key_list.name),
            name=text(via.name),
        )

    def _spread_key(self, declared_set: DeclaredSet, via: IndexEntity | Summary) -> Brackets:
        """Return the declared key: that of the rows, without their number if each value has several."""
        key = via.layout if isinstance(via, Summary) else via.layout(declared_set.key)
        row = key.row_template.rpartition("_{")[0] if via.spread > 1 else key.row_template
        return self._key(Key(key.partition_template, row, max_units=key.max_units))

    def _store(self, store: Any) -> Brackets:
        match store:
            case InTable():
                return call("InTable", *([] if store.name is None else [text(store.name)]))
            case InBlobs():
                return call("InBlobs", text(store.container))
            case _:
                return call("InPartition")

    # -- Sets

    def _sets(self) -> list[str]:
        lines = ["@dataclass(frozen=True)", "class Sets:", f'    """The {self._parts()} of an account."""', ""]
        lines += [
            f"    {self.parts.sets[declared_set.name]}: {self._type(declared_set)}" for declared_set in self.design.sets
        ]
        lines += [f"    {self.parts.sets[log.name]}: BlobLog[Storage]" for log in self.design.logs]
        models = self.parts.models
        archives = [
            f"    {name}: Archive[Storage{f', {models[archived]}' if archived in models else ''}]"
            for archived, name in self.parts.archives.items()
        ]
        return [*lines, *archives]

    def _parts(self) -> str:
        return "sets and blob logs" if self.design.logs else "sets"

    def _type(self, declared_set: DeclaredSet) -> str:
        model = self.parts.models.get(declared_set.name)
        inner = f"Storage, {model}" if model else "Storage"
        match declared_set.pattern:
            case "log_tail":
                return f"LogTail[{inner}]"
            case "partition_spread":
                return "PartitionSpread[Storage]"
            case "period_tables":
                return f"PeriodTables[Storage, {_inner(declared_set)}[Storage]]"
            case "data_series":
                return f"DataSeries[Storage, {declared_set.settings['of']}]"
            case "wide_entity":
                return "WideEntity[Storage]"
            case _:
                return f"EntitySet[{inner}]"

    def _declare(self) -> list[str]:
        key = ", key: LocalKey" if self.encrypts else ""
        found = [f"def declare(storage: Storage{key}) -> Sets:", f'    """Return the {self._parts()} of an account."""']
        for declared_set in sorted(self.design.sets, key=holds_copies):
            lines = self._set(declared_set)
            found += [*(lines[1:] if found[-1] == lines[0] == "" else lines), ""]
        for declared_set in self.design.sets:
            if declared_set.archive is not None:
                found += [
                    *lines_of(f"{self.parts.archives[declared_set.name]} = ", self._archive(declared_set), indent=4),
                    "",
                ]
        for log in self.design.logs:
            found += [*lines_of(f"{self.parts.sets[log.name]} = ", logs.log_call(log), indent=4), ""]
        made = [(f"{name}=", name) for name in (*self.parts.sets.values(), *self.parts.archives.values())]
        return [*found, *lines_of("return ", Brackets("Sets(", made), indent=4)]

    def _archive(self, declared_set: DeclaredSet) -> Brackets:
        policy = declared_set.archive
        if policy is None or policy.to is None:
            target: Expression = call("BlobArchive", "storage", text("" if policy is None else policy.container or ""))
        else:
            target = self.parts.sets[policy.to]
        return call("Archive", self.parts.sets[declared_set.name], target)

    def _set(self, declared_set: DeclaredSet) -> list[str]:
        name, table = self.parts.sets[declared_set.name], text(declared_set.table)
        key, settings = self.parts.keys[declared_set.name], declared_set.settings
        match declared_set.pattern:
            case "partition_spread":
                brackets = call("EntitySet", "account", "table", "key", **self._options(declared_set))
                options = {key: literal(settings[key]) for key in ("buckets", "by", "bucket") if key in settings}
                spread = call("PartitionSpread", "storage", table, key, **options, factory=f"{name}_in")
                head = ["", f"    def {name}_in(account: Storage, table: str, key: Key) -> EntitySet[Storage]:"]
                return [*head, *lines_of("return ", brackets, indent=8), "", *lines_of(f"{name} = ", spread, indent=4)]
            case "period_tables":
                return self._period_tables(declared_set)
            case "data_series":
                options = {"prefix": literal(settings["name"]), "value_type": str(settings["of"])}
                options |= {"split": "True"} if settings.get("split") else {}
                brackets = call("DataSeries", "storage", table, key, str(settings["points"]), **options)
            case "wide_entity":
                names = [text(name) for name in declared_set.shape.fields if name not in declared_set.key.fields]
                brackets = call(
                    "WideEntity", "storage", table, key, properties=listed(names) if settings["fixed"] else None
                )
            case pattern:
                brackets = self._entity_set(declared_set, "log_tail" if pattern == "log_tail" else "", "storage", table)
        return lines_of(f"{name} = ", brackets, indent=4)

    def _entity_set(self, declared_set: DeclaredSet, pattern: str, account: str, table: str) -> Brackets:
        options = {**self._options(declared_set), "model": self.parts.models.get(declared_set.name)}
        if pattern != "log_tail":
            return call("EntitySet", account, table, self.parts.keys[declared_set.name], **options)
        prefix = declared_set.key.row_template.partition("{")[0]
        named = {key: literal(declared_set.settings[key]) for key in ("at", "entry") if key in declared_set.settings}
        named |= {"row_prefix": text(prefix)} if prefix else {}
        return call("LogTail", account, table, text(declared_set.key.partition_template), **named, **options)

    def _period_tables(self, declared_set: DeclaredSet) -> list[str]:
        name, settings, keep = self.parts.sets[declared_set.name], declared_set.settings, declared_set.retention
        brackets = self._entity_set(declared_set, str(settings.get("inner", "")), "account", "table")
        tables = call(
            "PeriodTables",
            "storage",
            text(declared_set.table),
            f"Period.{str(settings['period']).upper()}",
            factory=f"{name}_in",
            at=literal(settings["at"]),
            retention=call("timedelta", days=repr(keep.days)) if keep is not None and keep.by == "table" else None,
        )
        head = ["", f"    def {name}_in(account: Storage, table: str) -> {_inner(declared_set)}[Storage]:"]
        return [*head, *lines_of("return ", brackets, indent=8), "", *lines_of(f"{name} = ", tables, indent=4)]

    def _options(self, declared_set: DeclaredSet) -> dict[str, Expression | None]:
        derived = [self._bound(declared_set, number, derived) for number, derived in enumerate(declared_set.derived)]
        mappings = [self._mapping(mapping) for mapping in declared_set.mappings]
        return {"derived": listed(derived) if derived else None, "mappings": listed(mappings) if mappings else None}

    def _bound(self, declared_set: DeclaredSet, number: int, via: Derived) -> str:
        """Return the constant of derived data, or the copies of another set with which this one is filled."""
        if (constant := self.parts.derived.get((declared_set.name, number))) is not None:
            return constant
        copies = declared_set.profile(via).filled_from
        for source in self.design.sets:
            for at, derived in enumerate(source.derived):
                if derived is copies:
                    return f"{self.parts.derived[source.name, at]}.filled_from({self.parts.sets[source.name]})"
        raise TypeError(f"no set has the copies of {via.name}")

    def _mapping(self, mapping: Any) -> Brackets:
        names = _names(mapping.fields)
        if isinstance(mapping, LargeProperties):
            above = str(mapping.above)
            return call("LargeProperties", names or "[]", container=text(mapping.container), above=above)
        return call("EncryptedProperties", names or "[]", keys="key")

    # -- The design

    def _design(self) -> list[str]:
        key = [call("LocalKey", text("review"), "bytes(32)")] if self.encrypts else []
        lines = ["def design() -> Design:", '    """Return the design, for `tablepatterns review`."""']
        lines += lines_of("sets = ", call("declare", call("connect"), *key), indent=4)
        sets = Brackets("(", [("", self._declared(declared_set)) for declared_set in self.design.sets])
        options: dict[str, Expression] = {} if self.design.years == 3.0 else {"years": repr(self.design.years)}
        if self.design.logs:
            made = (logs.declaration(log, self.parts.sets[log.name]) for log in self.design.logs)
            options["logs"] = Brackets("(", [("", brackets) for brackets in made])
        return [*lines, *lines_of("return ", call("Design", text(self.design.name), sets, **options), indent=4)]

    def _declared(self, declared_set: DeclaredSet) -> Brackets:
        fields = Brackets(
            "{", [(f"{text(name)}: ", declared(of)) for name, of in declared_set.shape.fields.items()], "}"
        )
        growth = repr(declared_set.shape.growth) if declared_set.shape.growth else None
        shape = call("Shape", text(declared_set.shape.entity), str(declared_set.shape.count), fields, growth=growth)
        many: dict[str, Sequence[Any]] = {
            "queries": declared_set.queries,
            "writes": declared_set.writes,
            "access": declared_set.access,
        }
        brackets = call(
            "declare_set",
            f"sets.{self.parts.sets[declared_set.name]}",
            name=text(declared_set.name),
            shape=shape,
            **{name: listed(map(declared, values)) for name, values in many.items() if values},
            retention=None if declared_set.retention is None else declared(declared_set.retention),
            archive=None if declared_set.archive is None else declared(declared_set.archive),
        )
        if not KINDS[declared_set.pattern].shares_tables or declared_set.pattern == "entity_set":
            return brackets
        return call("replace", brackets, pattern=text(declared_set.pattern))


def is_date(declared_set: DeclaredSet, name: str) -> bool:
    """Whether the values of a field are days, as the format in a key says."""
    keys = [
        declared_set.key,
        *(profile.key for _, profile in declared_set.profiles() if profile.key and profile.finder),
    ]
    pieces = [
        piece
        for key in keys
        for template in (key.partition_template, key.row_template)
        for piece in pieces_of(template)
    ]
    spec = next((piece.spec or "" for piece in pieces if piece.name == name), "")
    return declared_set.shape.fields[name].type == "datetime" and "%" in spec and "%H" not in spec


def _inner(declared_set: DeclaredSet) -> str:
    return "LogTail" if declared_set.settings.get("inner") == "log_tail" else "EntitySet"


def _names(names: Any) -> Brackets | None:
    return None if names is None else listed(text(name) for name in sorted(names))


def comment(paragraphs: Sequence[str]) -> list[str]:
    """Return comment lines."""
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph, 86, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
    return lines


_HOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "collections.abc": ("Iterator",),
    "dataclasses": ("dataclass", "replace"),
    "datetime": ("date", "datetime", "timedelta", "timezone"),
    "uuid": ("UUID",),
    "tablepatterns": (
        *(
            "BlobLog",
            "CopiedFields",
            "DataSeries",
            "EncryptedProperties",
            "Entity",
            "EntitySet",
            "InBlobs",
            "InPartition",
            "InTable",
        ),
        *("IndexEntity", "Int64", "InterPartitionIndex", "IntraPartitionIndex", "Key", "LargeProperties", "LocalKey"),
        *("LogTail", "PartitionSpread", "Period", "PeriodTables", "QueryClass", "Storage", "Summary", "Traffic"),
        *("WideEntity", "between", "connect", "parse", "prefix", "Archive", "BlobArchive", "Worker"),
    ),
    "tablepatterns_review": (
        *("Access", "ArchivePolicy", "Design", "Field", "LogRead", "LogWrite", "Query", "Retention", "Shape", "Write"),
        *("declare_log", "declare_set"),
    ),
    "tablepatterns_engine": ("Clock", "Engine"),
}
"""Where the names that the modules use are imported from."""
_STANDARD: Final = ("collections.abc", "dataclasses", "datetime", "uuid")


def import_lines(body: Sequence[str], own: tuple[str, Sequence[str]] = ("", ())) -> list[str]:
    """Return the imports that lines of code need, sorted as `ruff` does: by module; constants, classes, functions.

    :param own: a module beside this one, and what it defines
    """
    tree = ast.walk(ast.parse("\n".join(body)))
    used_names = {node.id for node in tree if isinstance(node, ast.Name)} - set(_HOMES["dataclasses"] if own[0] else ())
    homes = {name: module for module, names in _HOMES.items() for name in names if name not in own[1]}
    other_names = [module for module in _HOMES if module not in _STANDARD]
    groups = [[_from(module, homes, used_names) for module in modules] for modules in (_STANDARD, other_names)]
    if "pytest" in used_names:
        groups[1].insert(0, ["import pytest"])
    groups.append([_from(own[0], dict.fromkeys(own[1], own[0]), used_names)])
    return [
        *"\n\n".join(lines for group in groups if (lines := "\n".join(line for each in group for line in each))).split(
            "\n"
        )
    ]


def _from(module: str, homes: Mapping[str, str], used_names: set[str]) -> list[str]:
    names = [name for name in used_names if homes.get(name) == module]
    names.sort(key=lambda name: (not name.isupper(), not name[:1].isupper(), name.casefold()))
    line = f"from {module} import {', '.join(names)}"
    if not names or len(line) <= 88:
        return [line] if names else []
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]
