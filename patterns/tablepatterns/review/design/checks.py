"""Check that the parts of a design fit together, however it was declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ...entity_set.derived import Derived, Index
from ...entity_set.shared_rows import PART
from ...errors import BadDesign, BadFilter
from ...figures import plural
from ...filters import parse
from ...recipes.summary import Summary
from ..key_parts import Piece, pieces_of
from ..measure.sample import values_in
from .model import DeclaredSet, Design, Field, FieldType, Query, Write
from .toml import TomlPath, meant

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

    :param path: where it is, by the keys of a design file
    :param whose: what it is about, such as `query "by e-mail"`
    :param says: what is wrong, and the way out
    """

    path: TomlPath
    whose: str
    says: str


def check(design: Design) -> None:
    """Refuse a design that cannot be tried.

    :raises BadDesign: parts do not fit together: the first that was found, and how many more
    """
    found = list(faults(design))
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise BadDesign("design", design.name, f"{found[0].whose}: {found[0].says}{more}", "mend the declaration")


def faults(design: Design) -> Iterator[Fault]:
    """Yield what does not fit together in a design."""
    if design.years <= 0:
        yield Fault(("years",), "design", f"years = {design.years:g}: growth is followed for more than none")
    names = [declared.name for declared in design.sets]
    for number, declared in enumerate(design.sets):
        path: TomlPath = ("set", number)
        if declared.name in names[:number]:
            yield Fault((*path, "name"), f'set "{declared.name}"', "another set has this name; give each its own")
        yield from _of_set(design, declared, path)


def _of_set(design: Design, declared: DeclaredSet, path: TomlPath) -> Iterator[Fault]:
    whose = f'set "{declared.name}"'
    yield from _of_shape(declared, path, whose)
    yield from _of_keys(declared, path, whose)
    if declared.retention is not None and declared.retention.days <= 0:
        yield Fault((*path, "retention", "days"), whose, "retention.days must be above 0")
    if declared.retention is not None and declared.retention.by == "table" and declared.pattern != "period_tables":
        says = "retention.by = 'table' needs the pattern period_tables, whose tables are dropped"
        yield Fault((*path, "retention", "by"), whose, says)
    seen: set[str] = set()
    for number, query in enumerate(declared.queries):
        yield from _of_access(query, (*path, "query", number), seen)
        yield from _of_query(declared, query, (*path, "query", number))
    for number, write in enumerate(declared.writes):
        yield from _of_access(write, (*path, "write", number), seen)
        yield from _of_write(design, declared, write, (*path, "write", number))


def _of_shape(declared: DeclaredSet, path: TomlPath, whose: str) -> Iterator[Fault]:
    shape = declared.shape
    if shape.count < 0:
        yield Fault((*path, "count"), whose, f"count = {shape.count}: it must be 0 or more")
    for name, field in shape.fields.items():
        at, called = (*path, "fields", name), f"{whose}: field {name}"
        if field.distinct is not None and field.distinct < 1:
            yield Fault((*at, "distinct"), called, f"distinct = {field.distinct}: it must be 1 or more")
        if field.size < 0 or field.skew < 0:
            yield Fault(at, called, "size and skew must be 0 or more")
        if field.largest is not None and field.largest < field.size:
            yield Fault((*at, "largest"), called, f"largest = {field.largest}: it is below size = {field.size}")
        if field.within is not None and (field.within not in shape.fields or field.within == name):
            says = f"within = {field.within!r} is no other field; {meant(field.within, list(shape.fields), 'fields')}"
            yield Fault((*at, "within"), called, says)


def _of_keys(declared: DeclaredSet, path: TomlPath, whose: str) -> Iterator[Fault]:
    shape, bucket = declared.shape, str(declared.settings.get("bucket", ""))
    for template in (declared.key.partition_template, declared.key.row_template):
        for piece in pieces_of(template):
            yield from _of_piece(declared, piece, (*path, "key"), whose)
    for number, derived in enumerate(declared.derived):
        at = (*path, "derived", number, "key")
        for name in sorted(set(derived.reads).difference(shape.fields, (bucket, PART))):
            says = (
                f"it reads {name}, which is not a field of {shape.entity}; {meant(name, list(shape.fields), 'fields')}"
            )
            yield Fault(at, f"{whose}: {_called(derived)}", says)
        yield from _of_dates(declared, derived, at, whose)
    is_known = all(name in shape.fields for name in declared.key.fields)
    if is_known and shape.count > 1 and values_in(shape, declared.key.fields) < shape.count:
        most = values_in(shape, declared.key.fields) if declared.key.fields else 1
        values = plural(most, "different value")
        says = f"the key has {values} for {plural(shape.count, 'entity')}; add a field that tells them apart"
        yield Fault((*path, "key"), whose, says)


def _of_dates(declared: DeclaredSet, derived: Derived, path: TomlPath, whose: str) -> Iterator[Fault]:
    """Yield the dates of one key that rows of the other would have to hold, which no property can."""
    if not isinstance(derived, Index):
        return
    for template in (derived.key.partition_template, derived.key.row_template):
        for piece in pieces_of(template):
            if "%" in piece.spec and "%H" not in piece.spec and piece.name not in declared.key.fields:
                says = f"the entities hold {piece.name} as a property, and a date is none"
                says += f"; write it as an instant, {{{piece.name}:ticks}}, or name it in the primary key too"
                yield Fault(path, f"{whose}: {_called(derived)}", says)
    for template in (declared.key.partition_template, declared.key.row_template):
        for piece in pieces_of(template):
            if "%" in piece.spec and "%H" not in piece.spec and piece.name not in derived.key.fields:
                says = f"its rows hold {piece.name} of the primary key as a property, and a date is none"
                says += f"; name {piece.name} in its key too, or write it to the primary key with another format"
                yield Fault(path, f"{whose}: {_called(derived)}", says)


def _called(derived: Derived) -> str:
    return f'derived "{derived.name}"'


def _of_piece(declared: DeclaredSet, piece: Piece, path: TomlPath, whose: str) -> Iterator[Fault]:
    if piece.name is None:
        return
    field = declared.shape.fields.get(piece.name)
    if field is None:
        known = meant(piece.name, list(declared.shape.fields), "fields")
        yield Fault(
            path, whose, f"the key names {piece.name}, which is not a field of {declared.shape.entity}; {known}"
        )
    elif field.type not in _fitting(piece.spec):
        kinds = " or ".join(_fitting(piece.spec))
        says = f"{{{piece.name}:{piece.spec}}} in the key needs a field of type {kinds}, and it is {field.type}"
        yield Fault(path, whose, says)


def _fitting(spec: str) -> tuple[FieldType, ...]:
    return _FITS.get(spec, ("datetime",) if "%" in spec else ("int32", "int64"))


def _of_access(access: Query | Write, path: TomlPath, seen: set[str]) -> Iterator[Fault]:
    what = "query" if isinstance(access, Query) else "write"
    whose = f'{what} "{access.name}"'
    if access.name in seen:
        yield Fault((*path, "name"), whose, "another access pattern of the set has this name; give each its own")
    seen.add(access.name)
    if access.rate < 0 or access.skew < 0:
        yield Fault(path, whose, "rate and skew must be 0 or more")
    if access.peak is not None and access.peak < access.rate:
        yield Fault((*path, "peak"), whose, f"peak = {access.peak:g}: it is below rate = {access.rate:g}")


def _of_query(declared: DeclaredSet, query: Query, path: TomlPath) -> Iterator[Fault]:
    whose, fields = f'query "{query.name}"', declared.shape.fields
    for name, how in query.known.items():
        yield from _unknown(declared, f"known.{name}", name, (*path, "known", name), whose)
        if how == "prefix" and fields.get(name, Field()).type != "string":
            yield Fault(
                (*path, "known", name), whose, f"known.{name} = 'prefix': only texts have beginnings; use 'range'"
            )
    if query.order is not None:
        yield from _unknown(declared, f"order = {query.order!r}", query.order.lstrip("-"), (*path, "order"), whose)
    totals = [name for via in declared.derived if isinstance(via, Summary) for name in via.properties]
    for name in query.select:
        if name not in totals:
            yield from _unknown(declared, f"select: {name}", name, (*path, "select"), whose)
    if query.take is not None and query.take < 1:
        yield Fault((*path, "take"), whose, f"take = {query.take}: it must be 1 or more; leave it out for all")
    if query.filter is not None:
        if query.known:
            yield Fault((*path, "known"), whose, "there is a filter too; give one of the two")
        try:
            parse(query.filter)
        except BadFilter as error:
            yield Fault((*path, "filter"), whose, f"the filter cannot be sent: {error.message}")


def _of_write(design: Design, declared: DeclaredSet, write: Write, path: TomlPath) -> Iterator[Fault]:
    whose = f'write "{write.name}"'
    for name in write.changes:
        if declared.pattern != "data_series":
            yield from _unknown(declared, f"changes: {name}", name, (*path, "changes"), whose)
    if write.writers < 1:
        yield Fault((*path, "writers"), whose, f"writers = {write.writers}: it must be 1 or more")
    others = [other.name for each in design.sets if each is not declared for other in each.writes]
    for name in write.together:
        if others.count(name) != 1:
            says = (
                f"together: {name!r} is {'no write' if name not in others else 'a write of several'} of the other sets"
            )
            yield Fault((*path, "together"), whose, f"{says}; {meant(name, others, 'writes')}")


def _unknown(declared: DeclaredSet, says: str, name: str, path: TomlPath, whose: str) -> Iterator[Fault]:
    fields: Sequence[str] = list(declared.shape.fields)
    if name not in fields:
        yield Fault(path, whose, f"{says} is not a field of {declared.shape.entity}; {meant(name, fields, 'fields')}")
