"""Check that the parts of a design fit together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
from tablepatterns.storage import Storage, connect

from ..key_parts import Piece, pieces_of
from ..kinds import kind_of
from ..measure.account import SetRecipe, archive_of, create_sets
from ..measure.sample import values_in
from ..toml_file import TomlPath, meant
from .model import (
    ArchivePolicy,
    DeclaredLog,
    DeclaredSet,
    Design,
    Field,
    FieldType,
    LogRead,
    LogWrite,
    Query,
    Shape,
    Write,
)

_FITS: Final[dict[str, tuple[FieldType, ...]]] = {
    "": ("string",),
    "escape": ("string",),
    "float": ("double",),
    "ticks": ("datetime",),
    "inverted": ("datetime",),
    "uuid": ("guid",),
}


@dataclass(frozen=True)
class Fault:
    """Two parts of a design that do not fit together.

    :param path: its location, as keys of a design file
    :param whose: the part that it is about, such as `query "by e-mail"`
    :param says: the problem, and what to do
    """

    path: TomlPath
    whose: str
    says: str


def check(design: Design) -> None:
    """Reject a design that cannot be reviewed.

    :raises BadDesign: parts do not fit together; the error has the first problem and the number of others
    """
    found = list(faults(design))
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise BadDesign("design", design.name, f"{found[0].whose}: {found[0].says}{more}", "change the declaration")


def faults(design: Design) -> Iterator[Fault]:
    """Yield the problems of a design."""
    faults = list(_of_parts(design))
    # Recipes can only be made of parts that fit
    yield from faults or _of_moves(design)


def _of_parts(design: Design) -> Iterator[Fault]:
    yield from _out_of_bounds(design, (), "design")
    names = [declared_set.name for declared_set in design.sets]
    for number, declared_set in enumerate(design.sets):
        path: TomlPath = ("set", number)
        if declared_set.name in names[:number]:
            yield Fault((*path, "name"), f'set "{declared_set.name}"', "another set has this name; give each its own")
        yield from _of_set(design, declared_set, path)
    for number, log in enumerate(design.logs):
        yield from _of_log(design, number, log)


def _of_log(design: Design, number: int, log: DeclaredLog) -> Iterator[Fault]:
    path, whose = ("blob_log", number), f'blob_log "{log.name}"'
    others = design.logs[:number]
    if log.name in [declared_part.name for declared_part in design.parts[: len(design.sets) + number]]:
        yield Fault((*path, "name"), whose, "a set or another log has this name; give each its own")
    if (log.container, log.prefix) in [(log.container, log.prefix) for log in others]:
        says = f"service = {log.prefix!r}: another log of this container has it, so entries mix; give each its own"
        yield Fault((*path, "service"), whose, says)
    yield from _out_of_bounds(log, path, whose)
    seen_names: set[str] = set()
    for at, read in enumerate(log.reads):
        yield from _of_access(read, (*path, "read", at), seen_names, "read")
    for at, write in enumerate(log.writes):
        yield from _of_access(write, (*path, "write", at), seen_names, "write")


def _of_moves(design: Design) -> Iterator[Fault]:
    """Yield the archives to which entities could not be moved, or not back."""
    if not any(declared_set.archive for declared_set in design.sets):
        return
    with connect() as storage:
        try:
            recipes = create_sets(design, storage)
        except BadInput as error:
            yield Fault((), "design", message_of(error))
            return
        for number, declared_set in enumerate(design.sets):
            says = _unmovable(storage, declared_set, recipes)
            if says is not None:
                key = "container" if declared_set.archive is not None and declared_set.archive.to is None else "to"
                yield Fault(("set", number, "archive", key), f'set "{declared_set.name}": archive', says)


def _unmovable(storage: Storage, declared_set: DeclaredSet, recipes: Mapping[str, SetRecipe]) -> str | None:
    """Return why the archive of a set cannot be made; None if it can, or there is none."""
    try:
        archive_of(storage, declared_set, recipes)
    except BadInput as error:
        return message_of(error)
    return None


def _out_of_bounds(declared: object, path: TomlPath, whose: str) -> Iterator[Fault]:
    """Yield the numbers that are outside the bounds of their field."""
    for name, bounds in _bounds(cast(Hashable, type(declared))).items():
        value = getattr(declared, name)
        if value is None:
            continue
        if not math.isfinite(value):
            rule = "it must be a finite number"
        elif bounds.ge is not None and value < bounds.ge:
            rule = f"it must be {bounds.ge} or more"
        elif bounds.gt is not None and value <= bounds.gt:
            rule = f"it must be above {bounds.gt}"
        elif bounds.le is not None and value > bounds.le:
            rule = f"it must be {spelled(bounds.le)} or less"
        else:
            continue
        yield Fault((*path, name), whose, f"{name} = {value}: {rule}")


@lru_cache(maxsize=16)
def _bounds(kind: Hashable) -> Mapping[str, Any]:
    """Return the bounds of the numeric fields of a class."""
    found: dict[str, Any] = {}
    for name, hint in get_type_hints(cast("type[Any]", kind), include_extras=True).items():
        for part in (hint, *get_args(hint)):
            for item in getattr(part, "__metadata__", ()):
                if isinstance(item, Interval):
                    found[name] = item
    return found


def _of_set(design: Design, declared_set: DeclaredSet, path: TomlPath) -> Iterator[Fault]:
    whose = f'set "{declared_set.name}"'
    yield from _of_table(declared_set, path, whose)
    yield from _of_shape(declared_set, path, whose)
    yield from _of_keys(declared_set, path, whose)
    if declared_set.retention is not None:
        yield from _out_of_bounds(declared_set.retention, (*path, "retention"), f"{whose}: retention")
        if declared_set.retention.by == "table" and kind_of(declared_set).time_field(declared_set) is None:
            says = "retention.by = 'table' needs the pattern period_tables, whose tables can be dropped"
            yield Fault((*path, "retention", "by"), whose, says)
    if declared_set.archive is not None:
        yield from _of_archive(design, declared_set, declared_set.archive, (*path, "archive"), f"{whose}: archive")
    seen_names: set[str] = set()
    for at, query in enumerate(declared_set.queries):
        yield from _of_access(query, (*path, "query", at), seen_names, "query")
        yield from _of_query(declared_set, query, (*path, "query", at))
    for at, write in enumerate(declared_set.writes):
        yield from _of_access(write, (*path, "write", at), seen_names, "write")
        yield from _of_write(design, declared_set, write, (*path, "write", at))
    for at, access in enumerate(declared_set.access):
        for key, names in (("by", access.by), ("hidden", access.hidden)):
            for name in names:
                where: TomlPath = (*path, "access", at, key)
                yield from _unknown(declared_set, f"{key}: {name}", name, where, f'access "{access.name}"')


def _of_archive(
    design: Design, declared_set: DeclaredSet, policy: ArchivePolicy, path: TomlPath, whose: str
) -> Iterator[Fault]:
    yield from _out_of_bounds(policy, path, whose)
    names = [each.name for each in design.sets if each is not declared_set]
    if (policy.to is None) == (policy.container is None):
        yield Fault(path, whose, "it needs either to, a set, or container, for blobs")
    elif policy.to is not None and policy.to not in names:
        says = f"to = {policy.to!r} is not another set; {meant(policy.to, names, 'sets')}"
        yield Fault((*path, "to"), whose, says)
    elif policy.to is not None and policy.count:
        says = f"count = {policy.count}: it is for blobs; declare the count of the set {policy.to!r}"
        yield Fault((*path, "count"), whose, says)
    if policy.after_days is None and policy.rate is None:
        yield Fault(path, whose, "it needs after_days, or the rate of archived entities")
    if policy.peak is not None and policy.rate is not None and policy.peak < policy.rate:
        yield Fault((*path, "peak"), whose, f"peak = {policy.peak:g}: it is below rate = {policy.rate:g}")
    targets = {
        declared_set.name: declared_set.archive.to for declared_set in design.sets if declared_set.archive is not None
    }
    chain, here = [declared_set.name], policy.to
    while here is not None and here not in chain:
        chain.append(here)
        here = targets.get(here)
    if here == declared_set.name and len(chain) > 1:
        cycle = " to ".join([*chain, declared_set.name])
        yield Fault((*path, "to"), whose, f"{cycle} is a cycle; remove one of the archives")


def _of_table(declared_set: DeclaredSet, path: TomlPath, whose: str) -> Iterator[Fault]:
    """Yield the tables and containers with names that the service rejects."""
    tables = [derived.table(declared_set.table) for derived in declared_set.derived]
    for number, name in enumerate([declared_set.table, *tables]):
        at: TomlPath = (*path, "derived", number - 1, "table") if number else (*path, "table")
        try:
            check_table_name(name)
        except BadInput as error:
            yield Fault(at, whose, message_of(error))


def _of_shape(declared_set: DeclaredSet, path: TomlPath, whose: str) -> Iterator[Fault]:
    shape = declared_set.shape
    yield from _out_of_bounds(shape, path, whose)
    for name, field in shape.fields.items():
        at, called = (*path, "fields", name), f"{whose}: field {name}"
        yield from _out_of_bounds(field, at, called)
        if name in (*SYSTEM_PROPERTIES, WRITE_ID):
            yield Fault(at, called, f"{name} is set by the service or the library; rename the field")
        try:
            storable(name, "")
        except BadInput as error:
            yield Fault(at, called, message_of(error))
        if field.largest is not None and field.largest < field.size:
            yield Fault((*at, "largest"), called, f"largest = {field.largest}: it is below size = {field.size}")
        if field.within is not None and (field.within not in shape.fields or field.within == name):
            says = (
                f"within = {field.within!r} is not another field; {meant(field.within, list(shape.fields), 'fields')}"
            )
            yield Fault((*at, "within"), called, says)
        elif name in (cycle := _cycle(shape, name)):
            says = f"within = {field.within!r}: {' within '.join([*cycle, cycle[0]])} is a cycle; remove one of them"
            yield Fault((*at, "within"), called, says)


def _cycle(shape: Shape, name: str) -> list[str]:
    """Return the cycle of `within` that starts at a field, or an empty list."""
    chain: list[str] = []
    here: str | None = name
    while here is not None and here in shape.fields:
        if here in chain:
            return chain[chain.index(here) :]
        chain.append(here)
        here = shape.fields[here].within
    return []


def _of_keys(declared_set: DeclaredSet, path: TomlPath, whose: str) -> Iterator[Fault]:
    shape, bucket = declared_set.shape, str(declared_set.settings.get("bucket", ""))
    for template in (declared_set.key.partition_template, declared_set.key.row_template):
        for piece in pieces_of(template):
            yield from _of_piece(declared_set, piece, (*path, "key"), whose)
    for number, derived in enumerate(declared_set.derived):
        at = (*path, "derived", number, "key")
        for name in sorted(set(derived.reads).difference(shape.fields, (bucket, PART))):
            says = (
                f"it reads {name}, which is not a field of {shape.entity}; {meant(name, list(shape.fields), 'fields')}"
            )
            yield Fault(at, f"{whose}: {_called(derived)}", says)
        yield from _of_dates(declared_set, derived, at, whose)
    is_known = all(name in shape.fields for name in declared_set.key.fields)
    if is_known and shape.count > 1 and values_in(shape, declared_set.key.fields) < shape.count:
        most = values_in(shape, declared_set.key.fields) if declared_set.key.fields else 1
        values = plural(most, "different value")
        says = f"the key has {values} for {plural(shape.count, 'entity')}; add a field that tells them apart"
        yield Fault((*path, "key"), whose, says)


def _of_dates(declared_set: DeclaredSet, derived: Derived, path: TomlPath, whose: str) -> Iterator[Fault]:
    """Yield the dates in one key that rows of another would have to store, which no property can."""
    profile = declared_set.profile(derived)
    if profile.layout is None:
        return
    key = profile.layout.key
    for template in (key.partition_template, key.row_template):
        for piece in pieces_of(template):
            if "%" in piece.spec and "%H" not in piece.spec and piece.name not in declared_set.key.fields:
                says = f"the entities hold {piece.name} as a property, and a date is none"
                says += f"; write it as an instant, {{{piece.name}:ticks}}, or name it in the primary key too"
                yield Fault(path, f"{whose}: {_called(derived)}", says)
    for template in (declared_set.key.partition_template, declared_set.key.row_template):
        for piece in pieces_of(template):
            if "%" in piece.spec and "%H" not in piece.spec and piece.name not in key.fields:
                says = f"its rows hold {piece.name} of the primary key as a property, and a date is none"
                says += f"; name {piece.name} in its key too, or write it to the primary key with another format"
                yield Fault(path, f"{whose}: {_called(derived)}", says)


def _called(derived: Derived) -> str:
    return f'derived "{derived.name}"'


def _of_piece(declared_set: DeclaredSet, piece: Piece, path: TomlPath, whose: str) -> Iterator[Fault]:
    if piece.name is None:
        return
    field = declared_set.shape.fields.get(piece.name)
    if field is None:
        known = meant(piece.name, list(declared_set.shape.fields), "fields")
        yield Fault(
            path, whose, f"the key names {piece.name}, which is not a field of {declared_set.shape.entity}; {known}"
        )
    elif field.type not in _fitting(piece.spec):
        kinds = " or ".join(_fitting(piece.spec))
        says = f"{{{piece.name}:{piece.spec}}} in the key needs a field of type {kinds}, and it is {field.type}"
        yield Fault(path, whose, says)


def _fitting(spec: str) -> tuple[FieldType, ...]:
    return _FITS.get(spec, ("datetime",) if "%" in spec else ("int32", "int64"))


def _of_access(
    access: Query | Write | LogRead | LogWrite, path: TomlPath, seen_names: set[str], noun: str
) -> Iterator[Fault]:
    whose = f'{noun} "{access.name}"'
    if access.name in seen_names:
        of = "log" if path[0] == "blob_log" else "set"
        yield Fault((*path, "name"), whose, f"another access pattern of the {of} has this name; give each its own")
    seen_names.add(access.name)
    yield from _out_of_bounds(access, path, whose)
    if access.peak is not None and access.peak < access.rate:
        yield Fault((*path, "peak"), whose, f"peak = {access.peak:g}: it is below rate = {access.rate:g}")


def _of_query(declared_set: DeclaredSet, query: Query, path: TomlPath) -> Iterator[Fault]:
    whose, fields = f'query "{query.name}"', declared_set.shape.fields
    for name, how in query.known.items():
        yield from _unknown(declared_set, f"known.{name}", name, (*path, "known", name), whose)
        if how in ("prefix", "contains") and fields.get(name, Field()).type != "string":
            says = f"known.{name} = {how!r}: only strings can be searched so; use 'range'"
            yield Fault((*path, "known", name), whose, says)
    if query.order is not None:
        yield from _unknown(declared_set, f"order = {query.order!r}", query.order.lstrip("-"), (*path, "order"), whose)
    totals = [name for _, profile in declared_set.profiles() for name in profile.totals]
    for name in query.select:
        if name not in totals:
            yield from _unknown(declared_set, f"select: {name}", name, (*path, "select"), whose)
    if query.archived:
        yield from _of_archived(declared_set, query, path, whose)
    if query.filter is not None:
        if query.known:
            yield Fault((*path, "known"), whose, "there is a filter too; use one of the two")
        try:
            parse(query.filter)
        except BadFilter as error:
            yield Fault((*path, "filter"), whose, f"the filter cannot be sent: {error.message}")


def _of_archived(declared_set: DeclaredSet, query: Query, path: TomlPath, whose: str) -> Iterator[Fault]:
    """Yield what an archive cannot answer: it returns one entity by its key."""
    wanted = dict.fromkeys(declared_set.key.fields, "=")
    if declared_set.archive is None:
        yield Fault((*path, "archived"), whose, "the set has no archive; declare archive, or remove archived")
    elif query.known != wanted or query.filter is not None:
        says = f"an archive is read by the whole key, {', '.join(wanted)}"
        other = "" if declared_set.archive.to is None else f", or ask the set {declared_set.archive.to!r}"
        yield Fault((*path, "archived"), whose, f"{says}; give these with '='{other}")


def _of_write(design: Design, declared_set: DeclaredSet, write: Write, path: TomlPath) -> Iterator[Fault]:
    whose = f'write "{write.name}"'
    for name in write.changes:
        if kind_of(declared_set).points(declared_set) is None:
            yield from _unknown(declared_set, f"changes: {name}", name, (*path, "changes"), whose)
    other_names = [other_write.name for each in design.sets if each is not declared_set for other_write in each.writes]
    for name in write.atomic_with:
        if other_names.count(name) != 1:
            which = "not a write of another set" if name not in other_names else "a write of several sets"
            says = f"atomic_with: {name!r} is {which}"
            yield Fault((*path, "atomic_with"), whose, f"{says}; {meant(name, other_names, 'writes')}")


def _unknown(declared_set: DeclaredSet, says: str, name: str, path: TomlPath, whose: str) -> Iterator[Fault]:
    fields: Sequence[str] = list(declared_set.shape.fields)
    if name not in fields:
        yield Fault(
            path, whose, f"{says} is not a field of {declared_set.shape.entity}; {meant(name, fields, 'fields')}"
        )
