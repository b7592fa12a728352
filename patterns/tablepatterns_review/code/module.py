"""Write the module that declares a design: its models, keys, derived data, sets and access patterns."""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.large_properties.large_properties import LargeProperties

from ..design.key_parts import pieces_of_key
from ..design.model import DeclaredSet, Design
from ..kinds import kind_of
from ..kinds.recipes import holds_copies
from ..measure.measure import measure
from ..plans.planner import FIELD_TYPES
from ..python_source import CodeNames, Names, array, call, camel, declaration, derived_source, snake, source, text
from ..templates import environment

_TYPES: Final = {name: kind.__name__ for name, kind in FIELD_TYPES.items()} | {"datetime": "datetime"}
_IMPORTS: Final = """\
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

from tablepatterns import (Archive, BlobArchive, CopiedFields, DataSeries, EncryptedProperties, EntitySet, InBlobs,
    IndexEntity, InPartition, Int64, InTable, InterPartitionIndex, IntraPartitionIndex, Key, LargeProperties, LocalKey,
    LogTail, PartitionSpread, Period, PeriodTables, Storage, Summary, WideEntity, connect)
from tablepatterns_review import Access, ArchivePolicy, Design, Field, Query, Retention, Shape, Write, declare_set"""
"""What a module may need; `ruff` removes the rest."""
_OWN: Final = ("Sets", "declare", "design", "sets", "storage", "key", "account", "table", "annotations")
"""What the module defines in addition to the parts of the design."""


def _has_model(declared_set: DeclaredSet) -> bool:
    """Whether a dataclass with these fields can be the model of a set: keys name the fields of the class."""
    names, reserved = set(declared_set.shape.fields), {*keyword.kwlist, *_TYPES.values()}
    read_names = set(declared_set.key.fields).union(*(derived.reads for derived in declared_set.derived))
    if not kind_of(declared_set).groups_writes or not read_names <= names or not names.isdisjoint(reserved):
        return False
    return all(name.isascii() and name.isidentifier() and not name.startswith("_") for name in names)


def _models(sets: Iterable[DeclaredSet], names: Names) -> dict[str, str]:
    """Return the class of each set that has a model; an archive has that of the set whose entities it takes."""
    active_sets = {of.archive.to: of for of in sets if of.archive is not None and of.archive.to is not None}
    classes: dict[object, str] = {}
    models: dict[str, str] = {}
    for declared_set in filter(_has_model, sets):
        entity = active_sets.get(declared_set.name, declared_set).shape.entity
        fields = entity, *_model_types(declared_set).items()
        classes[fields] = models[declared_set.name] = classes.get(fields) or names.new(camel(entity))
    for archive, active_set in active_sets.items():
        if models.get(archive) != models.get(active_set.name):
            # Without a model, the archive reads every entity
            models.pop(archive, None)
    return models


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
        self.models = _models(sets, names)
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
            encrypts=any(isinstance(mapping, EncryptedProperties) for of in design.sets for mapping in of.mappings),
            makes=list(self._makes()),
            name=text(design.name),
            sets=[self._declared(declared_set) for declared_set in design.sets],
            years=None if design.years == Design("", ()).years else repr(design.years),
        )

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
            yield self.keys[declared_set.name], source(declared_set.key)
            for number, via in enumerate(declared_set.derived):
                if (name := self.derived.get((declared_set.name, number))) is not None:
                    yield name, derived_source(via)

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
        for of in self.design.sets:
            for at, derived in enumerate(of.derived):
                if derived is copies:
                    return f"{self.derived[of.name, at]}.filled_from({self.sets[of.name]})"
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
            "policies": {name: declaration(policy) for name, policy in policies.items() if policy is not None}
            | ({"permanent": "True"} if declared_set.permanent else {}),
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


def _mapping(mapping: Any) -> str:
    names = source(sorted(mapping.fields))
    if isinstance(mapping, LargeProperties):
        return call("LargeProperties", names, container=text(mapping.container), above=str(mapping.above))
    return call("EncryptedProperties", names, keys="key")


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


_IMPORTED: Final = ("pytest", "tablepatterns")
"""Packages that a module of this name would hide."""


def written(design: Design, name: str) -> dict[str, str]:
    """Return the modules of a design by file name: the one that declares it, and its tests.

    They are formatted by `ruff`, where it is installed. A name of another module or a keyword gets `_design` appended.

    >>> from tablepatterns_review import read_design
    >>> design = read_design('''
    ... name = "Staff"
    ... [[set]]
    ... name = "Employees"
    ... key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
    ... count = 20_000
    ... fields = { Department = { distinct = 12 }, EmployeeId = { type = "int32" } }
    ... ''')
    >>> list(written(design, "staff"))
    ['staff.py', 'test_staff.py']
    """
    name = snake(name)
    if name in _IMPORTED or name in sys.stdlib_module_names or keyword.iskeyword(name):
        name = f"{name}_design"
    module = Module(design)
    costs = {
        (call.of.name, call.access.name): f"({call.transactions:.4g}, {call.examined:.4g})"
        for call in measure(design)
        if call.rejected is None
    }
    tests = render("tests.py.jinja", module=name, costs=costs)
    texts = {f"{name}.py": module.text(), f"test_{name}.py": tests}
    return {file: formatted(text) for file, text in texts.items()}


def formatted(text: str) -> str:
    """Return a module as `ruff` formats it, without unused imports; as it is if ruff cannot be run."""
    if find_spec("ruff") is None:
        return text
    source = text.encode()
    for action in (("check", "--select", "F401", "--fix-only"), ("format",)):
        command = (sys.executable, "-m", "ruff", *action, "--quiet", "--isolated", "-")
        try:
            source = subprocess.run(command, input=source, capture_output=True, check=True).stdout  # noqa: S603 - fixed
        except (OSError, subprocess.SubprocessError):
            return text
    return source.decode()
