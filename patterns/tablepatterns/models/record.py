"""Convert a dataclass to the stored fields of an entity and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import isabstract
from typing import Annotated, Any, cast, get_args, get_origin

from ..errors import BadDesign
from .annotations import Streamed, declared_fields, field_types
from .codecs import Nested, OptionalOf, codec_of, convert_part, required
from .scalar_codecs import SCALARS, Codec, SecretCodec, TypeMismatch


@dataclass(frozen=True)
class Member:
    codec: Codec
    has_default: bool
    parameter: str
    """The name of the parameter of `__init__`."""


class Record:
    """The fields of a class, and how each is stored.

    None is not stored. If nothing is stored, a field is None if its type allows that, or has its default. Fields with
    `init=False` are not stored.
    """

    def __init__(self, record_class: type[Any], records: dict[type, Record] | None = None) -> None:
        fields = declared_fields(record_class)
        if fields is None:
            rule = "it is not a dataclass, nor a class of pydantic or attrs"
            raise BadDesign("type", record_class, rule, "decorate it with @dataclass")
        if isabstract(record_class):
            raise BadDesign("type", record_class, "it is abstract", "declare its subclasses")
        self.record_class = record_class
        self.members: dict[str, Member] = {}
        known_records = {} if records is None else records
        known_records[record_class] = self
        hints = field_types(record_class)
        for declared_field in fields:
            hint = hints[declared_field.name]
            if records is None and get_origin(hint) is Annotated:
                # How a field of the model is stored; of a nested class, `codec_of` rejects it
                hint = get_args(hint)[0]
            name = f"{record_class.__name__}.{declared_field.name}"
            codec = codec_of(name, hint, lambda part: Part(known_records.get(part) or Record(part, known_records)))
            if records is not None and isinstance(required(codec), SecretCodec):
                rule = "a part of a field cannot be secret by itself"
                raise BadDesign(name, hint, rule, "make it a field of the model: Annotated[SecretStr, Encrypted()]")
            self.members[declared_field.name] = Member(codec, declared_field.has_default, declared_field.parameter)

    def encoded(self, value: object) -> dict[str, Any]:
        """Return the fields that are stored of a value, as properties; those that are None are left out."""
        stored_fields = {name: self.encoded_field(name, getattr(value, name)) for name in self.members}
        return {name: stored for name, stored in stored_fields.items() if stored is not None}

    def encoded_field(self, name: str, value: object) -> Any:
        """Return one field as a property; a stream in place of bytes stays as it is."""
        codec = self.members[name].codec
        if isinstance(value, Streamed) and required(codec) is SCALARS[bytes]:
            return value
        return convert_part(name, codec.encode, value)

    def is_same(self, name: str, value: object, other: object) -> bool:
        """Whether two stored forms of a field are of the same value."""
        if value is other:
            return True
        codec = self.members[name].codec
        stored, other_stored = codec.encode(codec.decode(value)), codec.encode(codec.decode(other))
        # NaN is not equal to itself
        return stored == other_stored or (stored != stored and other_stored != other_stored)

    def decoded(self, stored: Mapping[str, Any]) -> Any:
        """Return the value that the fields are stored of; names that the class lacks do not count.

        A `TypeMismatch` has the field; the class itself may raise ValueError or TypeError.
        """
        arguments: dict[str, Any] = {}
        streams: dict[str, Streamed] = {}
        for name, member in self.members.items():
            stored_value = stored.get(name)
            if isinstance(stored_value, Streamed):
                # Its content is not known here, so the class sees empty bytes
                streams[name], stored_value = stored_value, b""
            if stored_value is not None or _needs_none(name, member):
                # Of None, the codec makes None, if the field may be None
                arguments[member.parameter] = convert_part(name, member.codec.decode, stored_value)
        instance = self.record_class(**arguments)
        for name, stream in streams.items():
            object.__setattr__(instance, name, stream)
        return instance

    def to_json(self, value: object) -> dict[str, object]:
        return {
            name: convert_part(name, member.codec.to_json, getattr(value, name))
            for name, member in self.members.items()
        }

    def from_json(self, part: Mapping[str, object]) -> Any:
        arguments: dict[str, Any] = {}
        for name, member in self.members.items():
            if name in part or _needs_none(name, member):
                arguments[member.parameter] = convert_part(name, member.codec.from_json, part.get(name))
        return self.record_class(**arguments)


def merge_records(records: Sequence[Record]) -> Record:
    """Return the fields that any of several classes has, for keys and filters of all of them."""
    merged = copy.copy(records[0])
    merged.members = {}
    for record in records:
        for name, member in record.members.items():
            codec = required(merged.members.setdefault(name, member).codec)
            if codec.name != required(member.codec).name:
                rule = f"another class has it as {codec.name}, and a filter compares one type"
                field = f"{record.record_class.__name__}.{name}"
                raise BadDesign("field", field, rule, "give it one type, or two names")
    return merged


class Part(Nested):
    def __init__(self, record: Record) -> None:
        self._record = record
        self.name = record.record_class.__name__

    def to_json(self, value: object) -> object:
        if type(value) is not self._record.record_class:
            raise self.mismatch(value)
        return self._record.to_json(value)

    def from_json(self, part: object) -> object:
        if not isinstance(part, dict):
            raise self.mismatch(part)
        return self._record.from_json(cast("dict[str, object]", part))


def _needs_none(name: str, member: Member) -> bool:
    """Return whether to pass None for a field that is not stored, rather than use its default."""
    may_be_none = isinstance(member.codec, OptionalOf)
    if not (may_be_none or member.has_default):
        rule = "nothing is stored, and the field has no default"
        raise TypeMismatch(None, rule, "add a default, or upgrade the entity", name)
    return may_be_none
