"""Choose the codec of a dataclass field, and store nested values as JSON."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

from ..entity import as_json
from ..errors import BadDesign, BadProperty
from .annotations import check_whole, declared_fields
from .scalar_codecs import OF_PYDANTIC, SCALARS, Codec, EnumCodec, LiteralCodec, SecretCodec, TextCodec, TypeMismatch


class OptionalOf(Codec):
    """A value or None: an absent property, or null in JSON."""

    def __init__(self, inner: Codec) -> None:
        self.inner = inner
        self.name = f"{inner.name} | None"
        self.in_keys, self.instead = inner.in_keys, inner.instead

    def encode(self, value: object) -> object:
        return None if value is None else self.inner.encode(value)

    def decode(self, stored: object) -> object:
        return None if stored is None else self.inner.decode(stored)

    def to_json(self, value: object) -> object:
        return None if value is None else self.inner.to_json(value)

    def from_json(self, part: object) -> object:
        return None if part is None else self.inner.from_json(part)


def required(codec: Codec) -> Codec:
    """Return the codec of a value that is not None."""
    return codec.inner if isinstance(codec, OptionalOf) else codec


class Nested(Codec):
    """The base of types that are stored as JSON text; each has its own `to_json` and `from_json`."""

    is_comparable = False
    instead = "use fields of single values in the key"

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


class AnyJson(Nested):
    """Any value with a JSON form: strings, numbers, True, False, None, and lists and dicts of these."""

    def __init__(self, kind: type = object) -> None:
        self._kind = kind
        self.name = "a JSON value" if kind is object else f"a {kind.__name__} of JSON values"

    def to_json(self, value: object) -> object:
        hint = "use lists, dicts with str keys, strings, finite numbers, True, False and None"
        try:
            json_value = json.loads(as_json(value))
        except (BadProperty, RecursionError) as error:
            raise TypeMismatch(value, "it has no JSON form", hint) from error
        if not isinstance(value, self._kind) or json_value != value:
            raise TypeMismatch(value, "JSON would not read it back equal", hint)
        return value

    def from_json(self, part: object) -> object:
        if not isinstance(part, self._kind):
            raise self.mismatch(part)
        return part


class ItemsOf(Nested):
    """A list of values of one type; or a tuple, of any length with one type, or with a codec for each item."""

    def __init__(self, kind: type[list[Any] | tuple[Any, ...]], inner: Codec | Sequence[Codec]) -> None:
        self._kind = kind
        self._inner = inner
        if kind is list and isinstance(inner, Codec):
            self.name = f"a list of {inner.name}"
        else:
            names = f"{inner.name}, ..." if isinstance(inner, Codec) else ", ".join(codec.name for codec in inner)
            self.name = f"a tuple of ({names})"

    def to_json(self, value: object) -> object:
        items = self._items(value, self._kind)
        return [convert_part(f"[{at}]", codec.to_json, item) for at, (codec, item) in enumerate(items)]

    def from_json(self, part: object) -> object:
        items = self._items(part, list)
        return self._kind(convert_part(f"[{at}]", codec.from_json, item) for at, (codec, item) in enumerate(items))

    def _items(self, value: object, kind: type) -> Iterator[tuple[Codec, object]]:
        if not isinstance(value, kind):
            raise self.mismatch(value)
        values = cast("Sequence[object]", value)
        codecs = [self._inner] * len(values) if isinstance(self._inner, Codec) else self._inner
        if len(codecs) != len(values):
            raise self.mismatch(values)
        return zip(codecs, values, strict=True)


class DictOf(Nested):
    def __init__(self, inner: Codec) -> None:
        self._inner = inner
        self.name = f"a dict of str to {inner.name}"

    def to_json(self, value: object) -> object:
        return {key: convert_part(f"[{key!r}]", self._inner.to_json, item) for key, item in self._items(value).items()}

    def from_json(self, part: object) -> object:
        return {key: convert_part(f"[{key!r}]", self._inner.from_json, item) for key, item in self._items(part).items()}

    def _items(self, value: object) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self.mismatch(value)
        items = cast("dict[Any, object]", value)
        for key in items:
            if not isinstance(key, str):
                raise TypeMismatch(key, "JSON keys are strings", "use a list of pairs, or convert the keys to str")
        return items


def convert_part(step: str, convert: Callable[[Any], object], part: object) -> Any:
    """Convert a part of a value; the path of a mismatch begins with the part's name or index."""
    try:
        return convert(part)
    except TypeMismatch as mismatch:
        raise mismatch.under(step) from mismatch


Inner = Callable[[type], Codec]
"""Returns the codec of a nested dataclass."""

_TYPES: Final[Mapping[object, Codec]] = {**SCALARS, list: AnyJson(list), dict: AnyJson(dict)}
_KNOWN: Final = (
    "str, bool, int, Int64, float, bytes, UUID, datetime, Ticks, date, time, timedelta, Decimal, an IP address, a URL, "
    "an Enum, a Literal, a dataclass, list[...], tuple[...], dict[str, ...], and any of these or None"
)
_INSTEAD: Final[dict[type, str]] = {
    PurePath: "str, since a path depends on the operating system",
    Set: "list[...] or tuple[..., ...], since a set has no order",
    complex: "two floats",
    Mapping: "dict[str, ...]",
    str: "str, and Annotated for its constraints",
    int: "int, and Annotated for its constraints",
    tuple: "a dataclass, or tuple[...]",
    Sequence: "list[...] or tuple[..., ...]",
}
"""What to use in place of a class that is not supported, or of its base."""


def codec_of(field: str, annotation: Any, inner: Inner) -> Codec:
    """Return the codec of a field's type; `inner` returns the codec of a nested dataclass."""
    if get_origin(annotation) is Annotated:
        annotation, *annotations = get_args(annotation)
        check_whole(field, annotations)
    for alias in ("__supertype__", "__value__"):
        if not isinstance(annotation, type) and hasattr(annotation, alias):
            return codec_of(field, getattr(annotation, alias), inner)
    if get_origin(annotation) is None and annotation in _TYPES:
        return _TYPES[annotation]
    if get_origin(annotation) is Literal:
        return _literal(field, get_args(annotation))
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return _of_class(field, annotation, inner)
    return _generic(field, annotation, inner)


def _of_class(field: str, annotation: type[Any], inner: Inner) -> Codec:
    if issubclass(annotation, Enum):
        return _choice(field, annotation)
    if declared_fields(annotation) is not None:
        return inner(annotation)
    if annotation.__module__.partition(".")[0] in ("pydantic", "pydantic_core"):
        if annotation.__name__ in OF_PYDANTIC:
            return OF_PYDANTIC[annotation.__name__]
        if hasattr(annotation, "get_secret_value"):
            return SecretCodec(annotation)
        if hasattr(annotation, "unicode_string"):
            return TextCodec(annotation)
    return _generic(field, annotation, inner)


def _literal(field: str, values: Sequence[object]) -> Codec:
    choices = [value for value in values if value is not None]
    for kind in (str, int):
        if choices and all(type(value) is kind for value in choices):
            codec = LiteralCodec(choices, _TYPES[kind])
            return codec if len(choices) == len(values) else OptionalOf(codec)
    rule = "a Literal has values that are all str or all int"
    raise BadDesign(field, Literal[tuple(values)], rule, "use one type, or an Enum")


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
        (value_type,) = (argument for argument in arguments if argument is not type(None))
        return OptionalOf(codec_of(field, value_type, inner))
    if origin is list or (origin is tuple and arguments[-1:] == (...,)):
        return ItemsOf(origin, _part(field, arguments[0], inner))
    if origin is tuple:
        return ItemsOf(tuple, [_part(field, argument, inner) for argument in arguments])
    if origin is dict and arguments[0] is str:
        return DictOf(_part(field, arguments[1], inner))
    kind: object = cast("object", origin) if isinstance(origin, type) else annotation
    near = [use for base, use in _INSTEAD.items() if inspect.isclass(kind) and issubclass(kind, base)]
    if getattr(annotation, "__name__", "") == "NaiveDatetime":
        near = ["datetime with a time zone, such as pydantic's AwareDatetime"]
    if origin in (Union, types.UnionType):
        near = ["one of its types, or one type and None"]
    rule = "this type is not supported"
    raise BadDesign(field, annotation, rule, f"use {near[0]}" if near else f"use one of {_KNOWN}")


def _part(field: str, annotation: Any, inner: Inner) -> Codec:
    if annotation in (Any, object):
        return AnyJson()
    codec = codec_of(field, annotation, inner)
    if isinstance(required(codec), SecretCodec):
        rule = "a part of a field cannot be secret by itself"
        raise BadDesign(field, annotation, rule, "make it a field of its own: Annotated[SecretStr, Encrypted()]")
    return codec
