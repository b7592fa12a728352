"""Check that the parts of a design fit together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, cast, get_args, get_type_hints

from annotated_types import Interval

from tablepatterns.connection import check_table_name
from tablepatterns.entity import WRITE_ID, storable
from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.shared_rows import PART
from tablepatterns.errors import BadDesign, BadFilter, BadInput, message_of
from tablepatterns.figures import number as spelled
from tablepatterns.figures import plural
from tablepatterns.filters import parse
from tablepatterns.limits import SYSTEM_PROPERTIES
from tablepatterns.storage import connect

from ..design.distribution import values_in
from ..design.key_parts import Piece, dates_of, pieces_of_key
from ..design.model import ArchivePolicy, DeclaredSet, Design, Field, FieldType, Query, Shape, Write
from ..kinds import kind_of
from ..kinds.recipes import archive_of, create_sets, number_of_tables, rejection
from ..toml_file import Problem, TomlPath, meant

_FITS: Final[dict[str, tuple[FieldType, ...]]] = {
    "": ("string",),
    "escape": ("string",),
    "float": ("double",),
    "ticks": ("datetime",),
    "inverted": ("datetime",),
    "uuid": ("guid",),
}


@dataclass(frozen=True)
class _Part:
    """A part of a design, by its path and its name in errors, such as `query "by e-mail"`."""

    path: TomlPath
    whose: str

    def fault(self, says: str, *below: str | int) -> Problem:
        return Problem((*self.path, *below), f"{self.whose}: {says}")

    def below(self, whose: str, *below: str | int) -> _Part:
        return _Part((*self.path, *below), whose)

    def out_of_bounds(self, declared: object) -> Iterator[Problem]:
        """Yield the numbers that are outside the bounds of their field."""
        for name, bounds in _bounds(cast(Hashable, type(declared))).items():
            value = getattr(declared, name)
            if value is None:
                continue
            rules = {
                "a finite number": math.isfinite(value),
                f"{bounds.ge} or more": bounds.ge is None or value >= bounds.ge,
                f"above {bounds.gt}": bounds.gt is None or value > bounds.gt,
                f"{spelled(bounds.le or 0)} or less": bounds.le is None or value <= bounds.le,
            }
            if broken_rules := [rule for rule, is_kept in rules.items() if not is_kept]:
                yield self.fault(f"{name} = {value}: it must be {broken_rules[0]}", name)

    def unknown(self, shape: Shape, says: str, name: str, *below: str | int) -> Iterator[Problem]:
        if name not in shape.fields:
            known = meant(name, list(shape.fields), "fields")
            yield self.fault(f"{says} is not a field of {shape.entity}; {known}", *below)


def check(design: Design) -> None:
    """Reject a design with faults: the error has the first one and the number of others."""
    found = list(faults(design))
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise BadDesign("design", design.name, f"{found[0].says}{more}", "change the declaration")


def faults(design: Design) -> Iterator[Problem]:
    """Yield the parts of a design that do not fit together."""
    faults = list(_of_parts(design))
    # Recipes can only be made of parts that fit
    yield from faults or _of_moves(design)


def _of_parts(design: Design) -> Iterator[Problem]:
    yield from _Part((), "design").out_of_bounds(design)
    names = [declared_set.name for declared_set in design.sets]
    for number, declared_set in enumerate(design.sets):
        part = _Part(("set", number), f'set "{declared_set.name}"')
        if declared_set.name in names[:number]:
            yield part.fault("another set has this name; give each its own", "name")
        for other in design.sets[:number]:
            is_shared = kind_of(declared_set).shares_tables and kind_of(other).shares_tables
            is_same = declared_set.table.lower() == other.table.lower() and declared_set.key.overlaps(other.key)
            if is_same and not is_shared:
                says = f"rows of {other.name!r} may have the same keys; give each set its own table"
                yield part.fault(f"table = {declared_set.table!r}: {says}", "table")
        yield from _of_set(design, declared_set, part)


def _of_moves(design: Design) -> Iterator[Problem]:
    """Yield the archives to which entities could not be moved, or not back."""
    if not any(declared_set.archive for declared_set in design.sets):
        return
    with connect() as storage:
        try:
            recipes = create_sets(design, storage)
        except BadInput as error:
            yield _Part((), "design").fault(message_of(error))
            return
        for number, declared_set in enumerate(design.sets):
            if (says := rejection(partial(archive_of, storage, declared_set, recipes))) is not None:
                key = "container" if declared_set.archive is not None and declared_set.archive.to is None else "to"
                yield _Part(("set", number, "archive"), f'set "{declared_set.name}": archive').fault(says, key)


@lru_cache(maxsize=16)
def _bounds(kind: Hashable) -> Mapping[str, Any]:
    bounds: dict[str, Any] = {}
    for name, hint in get_type_hints(cast("type[Any]", kind), include_extras=True).items():
        metadata = (item for part in (hint, *get_args(hint)) for item in getattr(part, "__metadata__", ()))
        for item in metadata:
            if isinstance(item, Interval):
                bounds[name] = item
    return bounds


def _of_set(design: Design, declared_set: DeclaredSet, part: _Part) -> Iterator[Problem]:
    shape, kind = declared_set.shape, kind_of(declared_set)
    yield from _of_table(declared_set, part)
    yield from _of_shape(shape, part)
    yield from _of_keys(declared_set, part)
    if declared_set.retention is not None:
        retention = part.below(f"{part.whose}: retention", "retention")
        yield from retention.out_of_bounds(declared_set.retention)
        if declared_set.retention.by == "table" and kind.time_field(declared_set) is None:
            says = "retention.by = 'table' needs the pattern period_tables, whose tables can be dropped"
            yield part.fault(says, "retention", "by")
        if declared_set.permanent:
            yield part.fault("permanent entities have no retention; declare one of the two", "permanent")
    timestamps = [name for name, field in shape.fields.items() if field.type == "datetime"]
    if (name := kind.time_field(declared_set)) is not None and name not in timestamps:
        says = f"at = {name!r} is not a field of {shape.entity} with a timestamp; {meant(name, timestamps)}"
        yield part.fault(says, "at")
    if declared_set.archive is not None:
        archive = part.below(f"{part.whose}: archive", "archive")
        yield from _of_archive(design, declared_set, declared_set.archive, archive)
    seen_names: set[str] = set()
    for at, query in enumerate(declared_set.queries):
        of_query = part.below(f'query "{query.name}"', "query", at)
        yield from _of_access(query, of_query, seen_names)
        yield from _of_query(declared_set, query, of_query)
    for at, write in enumerate(declared_set.writes):
        of_write = part.below(f'write "{write.name}"', "write", at)
        yield from _of_access(write, of_write, seen_names)
        yield from _of_write(design, declared_set, write, of_write)
    for at, access in enumerate(declared_set.access):
        of_access = part.below(f'access "{access.name}"', "access", at)
        for key, names in (("by", access.by), ("hidden", access.hidden)):
            for name in names:
                yield from of_access.unknown(shape, f"{key}: {name}", name, key)


def _of_archive(design: Design, declared_set: DeclaredSet, policy: ArchivePolicy, part: _Part) -> Iterator[Problem]:
    yield from part.out_of_bounds(policy)
    names = [other_set.name for other_set in design.sets if other_set is not declared_set]
    if (policy.to is None) == (policy.container is None):
        yield part.fault("it needs either to, a set, or container, for blobs")
    elif policy.to is not None and policy.to not in names:
        yield part.fault(f"to = {policy.to!r} is not another set; {meant(policy.to, names, 'sets')}", "to")
    elif policy.to is not None and policy.count:
        says = f"count = {policy.count}: it is for blobs; declare the count of the set {policy.to!r}"
        yield part.fault(says, "count")
    if policy.after_days is None and policy.rate is None:
        yield part.fault("it needs after_days, or the rate of archived entities")
    if policy.peak is not None and policy.rate is not None and policy.peak < policy.rate:
        yield part.fault(f"peak = {policy.peak:g}: it is below rate = {policy.rate:g}", "peak")
    targets = {other_set.name: other_set.archive.to for other_set in design.sets if other_set.archive is not None}
    cycle = _cycle(declared_set.name, targets)
    if len(cycle) > 1:
        yield part.fault(f"{' to '.join([*cycle, cycle[0]])} is a cycle; remove one of the archives", "to")


def _of_table(declared_set: DeclaredSet, part: _Part) -> Iterator[Problem]:
    tables = [derived.table(declared_set.table) for derived in declared_set.derived]
    for number, name in enumerate([declared_set.table, *tables]):
        if (says := rejection(partial(check_table_name, name))) is not None:
            yield part.fault(says, *(("derived", number - 1) if number else ()), "table")


def _of_shape(shape: Shape, part: _Part) -> Iterator[Problem]:
    yield from part.out_of_bounds(shape)
    within = {name: field.within for name, field in shape.fields.items()}
    for name, field in shape.fields.items():
        of_field = part.below(f"{part.whose}: field {name}", "fields", name)
        yield from of_field.out_of_bounds(field)
        if name in (*SYSTEM_PROPERTIES, WRITE_ID):
            yield of_field.fault(f"{name} is set by the service or the library; rename the field")
        if (says := rejection(partial(storable, name, ""))) is not None:
            yield of_field.fault(says)
        if field.largest is not None and field.largest < field.size:
            yield of_field.fault(f"largest = {field.largest}: it is below size = {field.size}", "largest")
        if field.within is not None and (field.within not in shape.fields or field.within == name):
            known = meant(field.within, list(shape.fields), "fields")
            yield of_field.fault(f"within = {field.within!r} is not another field; {known}", "within")
        elif cycle := _cycle(name, within):
            says = f"within = {field.within!r}: {' within '.join([*cycle, cycle[0]])} is a cycle; remove one of them"
            yield of_field.fault(says, "within")


def _cycle(start: str, following: Mapping[str, str | None]) -> list[str]:
    """Return the cycle that starts at a name, where each name has the following one, or an empty list."""
    chain, here = [start], following.get(start)
    while here is not None and here not in chain:
        chain.append(here)
        here = following.get(here)
    return chain if here == start else []


def _of_keys(declared_set: DeclaredSet, part: _Part) -> Iterator[Problem]:
    shape, key, bucket = declared_set.shape, declared_set.key, str(declared_set.settings.get("bucket", ""))
    for piece in pieces_of_key(key):
        yield from _of_piece(shape, piece, part)
    for number, derived in enumerate(declared_set.derived):
        of_derived = part.below(f'{part.whose}: derived "{derived.name}"', "derived", number, "key")
        for name in sorted(set(derived.reads).difference((bucket, PART))):
            yield from of_derived.unknown(shape, f"it reads {name}, which", name)
        yield from _of_dates(declared_set, derived, of_derived)
    is_known = all(name in shape.fields for name in key.fields)
    there = values_in(shape, key.fields) * number_of_tables(declared_set)
    if is_known and shape.count > 1 and there < shape.count:
        values = plural(values_in(shape, key.fields) if key.fields else 1, "different value")
        says = f"the key has {values} for {plural(shape.count, 'entity')}; add a field that tells them apart"
        yield part.fault(says, "key")


def _of_dates(declared_set: DeclaredSet, derived: Derived, part: _Part) -> Iterator[Problem]:
    """Yield the dates in one key that rows of another would have to store, which no property can."""
    profile = declared_set.profile(derived)
    if profile.layout is None:
        return
    key, own = profile.layout.key, declared_set.key
    for name in sorted(dates_of(key).difference(own.fields)):
        says = f"the entities hold {name} as a property, and a date is none"
        yield part.fault(f"{says}; write it as an instant, {{{name}:ticks}}, or name it in the primary key too")
    for name in sorted(dates_of(own).difference(key.fields)):
        says = f"its rows hold {name} of the primary key as a property, and a date is none"
        yield part.fault(f"{says}; name {name} in its key too, or write it to the primary key with another format")


def _of_piece(shape: Shape, piece: Piece, part: _Part) -> Iterator[Problem]:
    if piece.name is None:
        return
    field = shape.fields.get(piece.name)
    fitting = _FITS.get(piece.spec, ("datetime",) if "%" in piece.spec else ("int32", "int64"))
    if field is None:
        yield from part.unknown(shape, f"the key names {piece.name}, which", piece.name, "key")
    elif field.type not in fitting:
        kinds = " or ".join(fitting)
        says = f"{{{piece.name}:{piece.spec}}} in the key needs a field of type {kinds}, and it is {field.type}"
        yield part.fault(says, "key")


def _of_access(access: Query | Write, part: _Part, seen_names: set[str]) -> Iterator[Problem]:
    if access.name in seen_names:
        yield part.fault("another access pattern of the set has this name; give each its own", "name")
    seen_names.add(access.name)
    yield from part.out_of_bounds(access)
    if access.peak is not None and access.peak < access.rate:
        yield part.fault(f"peak = {access.peak:g}: it is below rate = {access.rate:g}", "peak")


def _of_query(declared_set: DeclaredSet, query: Query, part: _Part) -> Iterator[Problem]:
    shape = declared_set.shape
    for name, how in query.known.items():
        yield from part.unknown(shape, f"known.{name}", name, "known", name)
        if how in ("prefix", "contains") and shape.fields.get(name, Field()).type != "string":
            yield part.fault(f"known.{name} = {how!r}: only strings can be searched so; use 'range'", "known", name)
    if query.order is not None:
        yield from part.unknown(shape, f"order = {query.order!r}", query.order.lstrip("-"), "order")
    totals = [name for _, profile in declared_set.profiles() for name in profile.totals]
    for name in query.select:
        if name not in totals:
            yield from part.unknown(shape, f"select: {name}", name, "select")
    if query.results is not None and query.filter is None and set(query.known.values()) <= {"="}:
        says = "known has no range, prefix or text, so count and distinct say how many match"
        yield part.fault(f"results = {query.results:g}: {says}; remove it, or declare distinct", "results")
    if query.archived:
        yield from _of_archived(declared_set, query, part)
    if query.filter is not None:
        if query.known:
            yield part.fault("there is a filter too; use one of the two", "known")
        try:
            parse(query.filter)
        except BadFilter as error:
            yield part.fault(f"the filter cannot be sent: {error.message}", "filter")


def _of_archived(declared_set: DeclaredSet, query: Query, part: _Part) -> Iterator[Problem]:
    """Yield what an archive cannot answer: it returns one entity by its key."""
    wanted = dict.fromkeys(declared_set.key.fields, "=")
    if declared_set.archive is None:
        yield part.fault("the set has no archive; declare archive, or remove archived", "archived")
    elif query.known != wanted or query.filter is not None:
        says = f"an archive is read by the whole key, {', '.join(wanted)}"
        other = "" if declared_set.archive.to is None else f", or ask the set {declared_set.archive.to!r}"
        yield part.fault(f"{says}; give these with '='{other}", "archived")


def _of_write(design: Design, declared_set: DeclaredSet, write: Write, part: _Part) -> Iterator[Problem]:
    if kind_of(declared_set).points(declared_set) is None:
        for name in write.changes:
            yield from part.unknown(declared_set.shape, f"changes: {name}", name, "changes")
    others = [other_set for other_set in design.sets if other_set is not declared_set]
    other_names = [other_write.name for other_set in others for other_write in other_set.writes]
    for name in write.atomic_with:
        if other_names.count(name) != 1:
            which = "not a write of another set" if name not in other_names else "a write of several sets"
            says = f"atomic_with: {name!r} is {which}; {meant(name, other_names, 'writes')}"
            yield part.fault(says, "atomic_with")
