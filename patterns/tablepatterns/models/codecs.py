"""Choose the codec of a dataclass field, and store nested values as JSON."""

from __future__ import annotations

import json
import types
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Union, cast, get_args, get_origin
from uuid import UUID

from ..edm import Int64, Ticks
from ..entity import as_json
from ..errors import BadDesign, BadProperty
from .annotations import check_whole
from .declared_fields import declared_fields
from .scalar_codecs import (
    BytesCodec,
    Codec,
    DateCodec,
    DatetimeCodec,
    DecimalCodec,
    EnumCodec,
    FloatCodec,
    Int64Codec,
    IntCodec,
    PlainCodec,
    TicksCodec,
    TimedeltaCodec,
    TypeMismatch,
    UuidCodec,
)


class OptionalOf(Codec):
    """A value or None: an absent property, or null in JSON."""

    def __init__(self, inner: Codec) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return f"{self.inner.name} | None"

    def encode(self, value: object) -> object:
        return None if value is None else self.inner.encode(value)

    def decode(self, stored: object) -> object:
        return None if stored is None else self.inner.decode(stored)

    def to_json(self, value: object) -> object:
        return None if value is None else self.inner.to_json(value)

    def from_json(self, part: object) -> object:
        return None if part is None else self.inner.from_json(part)


class Nested(Codec):
    """The base of types that are stored as JSON text."""

    is_comparable = False

    def encode(self, value: object) -> object:
        part = self.to_json(value)
        try:
            return as_json(part)
        except BadProperty as error:
            raise TypeMismatch(value, error.rule, error.hint) from error
        except RecursionError as error:
            raise TypeMismatch(value, "it is nested too deep for JSON", "store less nesting, or use a blob") from error

    def decode(self, stored: object) -> object:
        if not isinstance(stored, str):
            raise self.mismatch(stored)
        try:
            part = json.loads(stored)
        except (ValueError, RecursionError) as error:
            raise TypeMismatch(stored, "the field is stored as JSON, and this is not JSON", "repair it") from error
        return self.from_json(part)

    @abstractmethod
    def to_json(self, value: object) -> object:
        """Return the value in JSON form."""

    @abstractmethod
    def from_json(self, part: object) -> object:
        """Return the value of its JSON form."""


class AnyJson(Nested):
    """Any value with a JSON form: strings, numbers, True, False, None, and lists and dicts of these."""

    def __init__(self, kind: type = object) -> None:
        self._kind = kind

    @property
    def name(self) -> str:
        return "a JSON value" if self._kind is object else f"a {self._kind.__name__} of JSON values"

    def to_json(self, value: object) -> object:
        hint = "use lists, dicts with str keys, strings, finite numbers, True, False and None"
        try:
            again = json.loads(as_json(value))
        except (BadProperty, RecursionError) as error:
            raise TypeMismatch(value, "it has no JSON form", hint) from error
        if not isinstance(value, self._kind) or again != value:
            raise TypeMismatch(value, "JSON would not read it back equal", hint)
        return value

    def from_json(self, part: object) -> object:
        if not isinstance(part, self._kind):
            raise self.mismatch(part)
        return part


class ListOf(Nested):
    """A list of values of one type."""

    def __init__(self, inner: Codec) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return f"a list of {self._inner.name}"

    def to_json(self, value: object) -> object:
        if not isinstance(value, list):
            raise self.mismatch(value)
        return [_to_json(self._inner, each, f"[{at}]") for at, each in enumerate(cast("list[object]", value))]

    def from_json(self, part: object) -> object:
        if not isinstance(part, list):
            raise self.mismatch(part)
        return [_from_json(self._inner, each, f"[{at}]") for at, each in enumerate(cast("list[object]", part))]


class TupleOf(Nested):
    """A tuple: of any length with one type, or with a type for each item."""

    def __init__(self, inner: Sequence[Codec], *, repeats: bool) -> None:
        self._inner = tuple(inner)
        self._repeats = repeats

    @property
    def name(self) -> str:
        names = ", ".join(each.name for each in self._inner)
        return f"a tuple of ({names}{', ...' if self._repeats else ''})"

    def to_json(self, value: object) -> object:
        if not isinstance(value, tuple):
            raise self.mismatch(value)
        each = self._parts(cast("tuple[object, ...]", value))
        return [_to_json(codec, part, f"[{at}]") for at, (codec, part) in enumerate(each)]

    def from_json(self, part: object) -> object:
        if not isinstance(part, list):
            raise self.mismatch(part)
        each = self._parts(cast("list[object]", part))
        return tuple(_from_json(codec, inner, f"[{at}]") for at, (codec, inner) in enumerate(each))

    def _parts(self, values: Sequence[object]) -> list[tuple[Codec, object]]:
        codecs = self._inner * len(values) if self._repeats else self._inner
        if len(codecs) != len(values):
            raise self.mismatch(values)
        return list(zip(codecs, values, strict=True))


class DictOf(Nested):
    """A dict with str keys and values of one type."""

    def __init__(self, inner: Codec) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return f"a dict of str to {self._inner.name}"

    def to_json(self, value: object) -> object:
        return {key: _to_json(self._inner, each, f"[{key!r}]") for key, each in self._items(value).items()}

    def from_json(self, part: object) -> object:
        return {key: _from_json(self._inner, each, f"[{key!r}]") for key, each in self._items(part).items()}

    def _items(self, value: object) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self.mismatch(value)
        items = cast("dict[Any, object]", value)
        for key in items:
            if not isinstance(key, str):
                raise TypeMismatch(key, "JSON keys are strings", "use a list of pairs, or convert the keys to str")
        return items


def _to_json(codec: Codec, value: object, step: str) -> object:
    try:
        return codec.to_json(value)
    except TypeMismatch as mismatch:
        raise mismatch.under(step) from mismatch


def _from_json(codec: Codec, part: object, step: str) -> object:
    try:
        return codec.from_json(part)
    except TypeMismatch as mismatch:
        raise mismatch.under(step) from mismatch


Inner = Callable[[type], Codec]
"""Returns the codec of a nested dataclass."""

_SCALARS: Final[dict[object, Codec]] = {
    str: PlainCodec(str),
    bool: PlainCodec(bool),
    int: IntCodec(),
    Int64: Int64Codec(),
    float: FloatCodec(),
    bytes: BytesCodec(),
    UUID: UuidCodec(),
    datetime: DatetimeCodec(),
    Ticks: TicksCodec(),
    date: DateCodec(),
    timedelta: TimedeltaCodec(),
    Decimal: DecimalCodec(),
    list: AnyJson(list),
    dict: AnyJson(dict),
}
_KNOWN: Final = (
    "str, bool, int, Int64, float, bytes, UUID, datetime, Ticks, date, timedelta, Decimal, an Enum, a dataclass, "
    "list[...], tuple[...], dict[str, ...], and any of these or None"
)


def codec_of(field: str, annotation: Any, inner: Inner) -> Codec:
    """Return the codec of a field's type.

    :param field: the name of the field in errors
    :param annotation: its type, as `typing.get_type_hints` returns it
    :param inner: returns the codec of a nested dataclass
    :raises BadDesign: the type is not supported
    """
    if get_origin(annotation) is Annotated:
        annotation, *given = get_args(annotation)
        check_whole(field, given)
    annotation = getattr(annotation, "__supertype__", annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choice(field, annotation)
    if isinstance(annotation, type) and declared_fields(annotation) is not None:
        return inner(annotation)
    return _generic(field, annotation, inner)


def _choice(field: str, annotation: type[Enum]) -> Codec:
    values: list[object] = [member.value for member in annotation]
    for kind in (str, int):
        if values and all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return EnumCodec(annotation)
    rule = "an enum is stored by its members' values, which must all be str or all int"
    raise BadDesign(field, annotation, rule, "change the values of the members")


def _generic(field: str, annotation: Any, inner: Inner) -> Codec:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        (other,) = (each for each in arguments if each is not type(None))
        return OptionalOf(codec_of(field, other, inner))
    if origin is list:
        return ListOf(_part(field, arguments[0], inner))
    if origin is tuple:
        repeats = arguments[-1:] == (...,)
        parts = arguments[:-1] if repeats else arguments
        return TupleOf([_part(field, each, inner) for each in parts], repeats=repeats)
    if origin is dict and arguments[0] is str:
        return DictOf(_part(field, arguments[1], inner))
    rule = "this type is not supported"
    raise BadDesign(field, annotation, rule, f"use one of {_KNOWN}")


def _part(field: str, annotation: Any, inner: Inner) -> Codec:
    return AnyJson() if annotation in (Any, object) else codec_of(field, annotation, inner)
