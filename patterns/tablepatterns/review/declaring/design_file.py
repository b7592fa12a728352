"""Design file: a design declared in TOML.

`design_keys` says what each of its keys means. A set is made by the recipe that keeps it, and read from that, so that a
file and a program that declare the same give the same review.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final, cast, get_args

from ...deriving.derived import Derived
from ...entity_set import EntitySet
from ...errors import BadInput
from ...key import Key
from ...recipes.denormalize import Denormalize
from ...storage import Storage, connect
from ..trying.building import PLAIN, POINTS, Keeper, Plan, keeper
from .declared import (
    DeclaredSet,
    Deed,
    Design,
    Field,
    FieldType,
    Known,
    Order,
    Query,
    Removal,
    Retention,
    Shape,
    Write,
)
from .design_parts import derived_of, key_of, mapping_of, tried
from .soundness import faults
from .toml_file import TomlFile, lines
from .toml_places import Path
from .toml_tables import Problem, Section

_PATTERNS: Final = (*PLAIN, "log_tail", "partition_spread", "period_tables", "data_series", "wide_entity")
_PERIODS: Final = ("hour", "day", "week", "month")


class BadDesignFile(BadInput):
    """A design file in which something is wrong; `problems` has all of it, with the lines.

    :param name: what the file is called
    :param problems: for each its line and what is wrong
    """

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("design file", name, "it declares no design", "mend it")
        self.message = lines(name, self.problems)


@dataclass(frozen=True)
class _Read:
    """A set that was read, whose parts may still be missing."""

    section: Section
    plan: Plan
    shape: Shape
    queries: tuple[Query, ...]
    writes: tuple[Write, ...]
    sources: tuple[tuple[Section, str], ...]
    """The sets that entities of this one are filled from."""


def read_design(given: str | FilePath) -> Design:
    """Return the design that a file, or a text, declares.

    Everything that is wrong is found in one go, and named with its line and key. No request is made.

    >>> design = read_design('''
    ... name = "Staff"
    ... [[set]]
    ... name = "Employees"
    ... key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
    ... count = 20_000
    ... [set.fields]
    ... Department = { distinct = 12 }
    ... EmployeeId = { type = "int32" }
    ... ''')
    >>> design.sets[0].shape.count
    20000

    :param given: the path of a file, or a text with more than one line
    :raises BadDesignFile: it is not TOML, or declares no design that can be tried
    :raises OSError: the file cannot be read
    """
    file = TomlFile.of(given, "design", BadDesignFile)
    problems: list[Problem] = []
    top = Section(file.values(), (), "", problems)
    sets = _sets(top)
    design = Design(top.needed("name"), tuple(each for each in sets if each), top.number("years", 3.0))
    top.refuse_others()
    if not problems:
        problems += [Problem(fault.path, f"{fault.whose}: {fault.says}") for fault in faults(design)]
    if problems:
        raise file.refused(problems)
    return design


def _sets(top: Section) -> list[DeclaredSet | None]:
    sections = top.sections("set", "set")
    if not sections:
        top.note("there is no set; write [[set]] for each set of entities")
    read = [_set(section) for section in sections]
    storage = connect()
    made: dict[str, DeclaredSet] = {}
    for each in sorted((each for each in read if each), key=lambda each: bool(each.sources)):
        declared = _declared(each, made, storage)
        if declared is not None:
            made[each.section.whose] = declared
    return [made.get(section.whose) for section in sections]


def _set(section: Section) -> _Read | None:
    before = len(section.problems)
    name, pattern = section.needed("name"), section.text("pattern", "entity_set", one_of=_PATTERNS) or "entity_set"
    table, entity = section.text("table", name) or name, section.text("entity", name) or name
    fields = {each: _field(section.section("fields"), each) for each in section.section("fields")}
    count = section.whole("count")
    if count is None and "count" not in section:
        section.note("count is missing; say how many entities there are")
    shape = Shape(entity, count or 0, fields, section.number("growth"))
    settings = _settings(section, pattern)
    key = _key(section, pattern, settings)
    queries = tuple(_query(each) for each in section.sections("query", "query"))
    writes = tuple(_write(each) for each in section.sections("write", "write"))
    retention = _retention(section)
    kept, sources = _derived(section, key)
    mappings = [mapping_of(each) for each in section.sections("mappings", "mapping")]
    section.refuse_others()
    if key is None or len(section.problems) > before:
        return None
    found = [each for each in mappings if each is not None]
    plan = Plan(pattern, table, key, settings, kept, found, retention, tuple(fields))
    return _Read(section, plan, shape, queries, writes, sources)


def _declared(read: _Read, made: Mapping[str, DeclaredSet], storage: Storage) -> DeclaredSet | None:
    """Return the set as the recipe tells it that keeps it, so that a file and a program declare the same."""
    derived = list(read.plan.derived)
    for section, source in read.sources:
        filled = _filled(section, source, made, storage)
        if filled is None:
            return None
        derived.append(filled)
    kept = _kept(read, derived, storage)
    if kept is None:
        return None
    declared = DeclaredSet.of(
        kept,
        shape=read.shape,
        name=read.section.text("name"),
        queries=read.queries,
        writes=read.writes,
        retention=read.plan.retention,
    )
    # What is special of some patterns is the key, which does not show in what keeps them
    return replace(declared, pattern=read.plan.pattern)


def _kept(read: _Read, derived: Sequence[Derived], storage: Storage) -> Keeper | None:
    """Return the recipe that keeps a set, or note at which part of it that cannot be."""
    kept = None
    for count in range(len(derived) + 1):
        place: Path = ("derived", count - 1, "key") if count else ("key",)
        kept = tried(read.section, partial(keeper, storage, read.plan, derived[:count]), *place)
        if kept is None:
            return None
    return kept


def _or(found: int | None, default: int) -> int:
    return default if found is None else found


def _derived(section: Section, key: Key | None) -> tuple[list[Derived], tuple[tuple[Section, str], ...]]:
    kept: list[Derived] = []
    sources: list[tuple[Section, str]] = []
    for each in section.sections("derived", "derived"):
        if "filled_from" in each:
            each.text("pattern", one_of=("denormalize",))
            sources.append((each, each.text("filled_from") or ""))
            each.refuse_others()
        elif key is not None and (made := derived_of(each, key)) is not None:
            kept.append(made)
    return kept, tuple(sources)


def _filled(section: Section, source: str, made: Mapping[str, DeclaredSet], storage: Storage) -> Derived | None:
    declared = made.get(f'set "{source}"')
    for each in declared.derived if declared is not None else ():
        if declared is not None and isinstance(each, Denormalize):
            copied = EntitySet(storage, declared.table, declared.key, derived=declared.derived)
            return tried(section, partial(each.filled_from, copied), "filled_from")
    section.note(
        f"filled_from = {source!r}: no set of this name has a denormalize; declare it there too", "filled_from"
    )
    return None


def _key(section: Section, pattern: str, settings: dict[str, Any]) -> Key | None:
    if pattern != "log_tail" and settings.get("inner") != "log_tail":
        return key_of(section)
    at, entry = settings.setdefault("at", "At"), settings.setdefault("entry", "EntryId")
    prefix = settings.pop("row_prefix", "")
    return key_of(section, row=f"{prefix}{{{at}:inverted}}_{{{entry}:uuid}}")


def _settings(section: Section, pattern: str) -> dict[str, Any]:
    """Return what else the recipe of a set is told."""
    found: dict[str, Any] = {}
    inner = section.text("inner", one_of=("entity_set", "log_tail")) if pattern == "period_tables" else None
    if pattern == "partition_spread":
        found = {"buckets": section.whole("buckets", 16, least=1), "bucket": section.text("bucket")}
        found["by"] = section.texts("by") or None
    elif pattern == "period_tables":
        found = {"period": section.text("period", "day", one_of=_PERIODS), "at": section.text("at"), "inner": inner}
    elif pattern == "data_series":
        found = {"points": section.whole("points", least=1), "name": section.text("point_name")}
        found |= {"of": section.text("of", "int", one_of=tuple(POINTS)), "split": section.flag("split")}
    elif pattern == "wide_entity":
        found = {"fixed": section.flag("fixed")}
    if "log_tail" in (pattern, inner):
        found |= {name: section.text(name) for name in ("at", "entry", "row_prefix")}
    return {name: value for name, value in found.items() if value is not None}


def _retention(section: Section) -> Retention | None:
    if "retention" not in section:
        section.section("retention")
        return None
    kept = section.section("retention")
    if "days" not in kept:
        kept.note("days is missing; say after how many days an entity goes")
    by = cast("Removal", kept.text("by", "entity", one_of=get_args(Removal)) or "entity")
    found = Retention(kept.number("days", 1.0), by)
    kept.refuse_others()
    return found


def _field(fields: Section, name: str) -> Field:
    field = fields.section(name, f"{fields.whose}.{name}")
    found = Field(
        type=cast("FieldType", field.text("type", "string", one_of=get_args(FieldType)) or "string"),
        size=_or(field.whole("size", 16), 16),
        largest=field.whole("largest"),
        distinct=field.whole("distinct"),
        skew=field.number("skew"),
        order=cast("Order", field.text("order", "none", one_of=get_args(Order)) or "none"),
        within=field.text("within"),
        secret=field.flag("secret"),
    )
    field.refuse_others()
    return found


def _query(section: Section) -> Query:
    known = section.section("known")
    found = Query(
        name=section.needed("name"),
        known={name: cast("Known", known.text(name, "=", one_of=get_args(Known)) or "=") for name in known},
        filter=section.text("filter"),
        order=section.text("order"),
        take=section.whole("take"),
        select=section.texts("select"),
        rate=section.number("rate"),
        peak=section.perhaps("peak"),
        skew=section.number("skew"),
        fresh=section.number("fresh"),
        results=section.perhaps("results"),
    )
    section.refuse_others()
    return found


def _write(section: Section) -> Write:
    found = Write(
        name=section.needed("name"),
        deed=cast("Deed", section.text("deed", "", one_of=get_args(Deed)) or "insert"),
        changes=section.texts("changes"),
        rate=section.number("rate"),
        peak=section.perhaps("peak"),
        skew=section.number("skew"),
        writers=_or(section.whole("writers", 1), 1),
        together=section.texts("together"),
    )
    if "deed" not in section:
        section.note(f"deed is missing; give one of {', '.join(get_args(Deed))}")
    section.refuse_others()
    return found


__all__ = ["BadDesignFile", "read_design"]
