"""Which codec a field has, by the type that its dataclass gives it."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Union, get_args, get_origin
from uuid import UUID

from ..edm import Int64, Ticks
from ..errors import BadDesign
from .codec import Codec
from .leaves import Bytes, Choice, Day, Exact, Exactly100ns, Guid, Integer, Moment, Plain, Real, Span, Wide
from .nested import AnyJson, DictOf, ListOf, Maybe, TupleOf

Inner = Callable[[type], Codec]
"""What gives the codec of a dataclass inside a field."""

_LEAVES: Final[dict[object, Codec]] = {
    str: Plain(str),
    bool: Plain(bool),
    int: Integer(),
    Int64: Wide(),
    float: Real(),
    bytes: Bytes(),
    UUID: Guid(),
    datetime: Moment(),
    Ticks: Exactly100ns(),
    date: Day(),
    timedelta: Span(),
    Decimal: Exact(),
    list: AnyJson(list),
    dict: AnyJson(dict),
}
_KNOWN: Final = (
    "str, bool, int, Int64, float, bytes, UUID, datetime, Ticks, date, timedelta, Decimal, an Enum, a dataclass, "
    "list[...], tuple[...], dict[str, ...], and any of these or None"
)


def codec_of(field: str, annotation: Any, inner: Inner) -> Codec:
    """Return the codec of a field's type.

    :param field: what errors call the field
    :param annotation: its type, as `typing.get_type_hints` gives it
    :param inner: gives the codec of a dataclass
    :raises BadDesign: there is none for the type
    """
    annotation = getattr(annotation, "__supertype__", annotation)
    if annotation in _LEAVES:
        return _LEAVES[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choice(field, annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        return inner(annotation)
    return _generic(field, annotation, inner)


def _choice(field: str, annotation: type[Enum]) -> Codec:
    values: list[object] = [member.value for member in annotation]
    for kind in (str, int):
        if values and all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return Choice(annotation)
    rule = "an enumeration is stored by its members' values, which must all be text, or all int"
    raise BadDesign(field, annotation, rule, "give the members such values")


def _generic(field: str, annotation: Any, inner: Inner) -> Codec:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        (other,) = (each for each in arguments if each is not type(None))
        return Maybe(codec_of(field, other, inner))
    if origin is list:
        return ListOf(_part(field, arguments[0], inner))
    if origin is tuple:
        repeats = arguments[-1:] == (...,)
        parts = arguments[:-1] if repeats else arguments
        return TupleOf([_part(field, each, inner) for each in parts], repeats=repeats)
    if origin is dict and arguments[0] is str:
        return DictOf(_part(field, arguments[1], inner))
    rule = "typed entities do not know this type"
    raise BadDesign(field, annotation, rule, f"use one of {_KNOWN}")


def _part(field: str, annotation: Any, inner: Inner) -> Codec:
    return AnyJson() if annotation in (Any, object) else codec_of(field, annotation, inner)
