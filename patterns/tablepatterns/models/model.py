"""Convert instances of a declared class to the stored fields of an entity and back."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

from ..edm import Int64, Ticks
from ..entity import Entity, same_value
from ..errors import (
    NOT_SHOWN,
    BadDesign,
    BadFilter,
    BadInput,
    BadKey,
    BadProperty,
    UnrecognizedEntity,
    message_of,
    one_line,
    short_repr,
)
from ..filters import Comparison, Filter
from ..filters.expression import map_comparisons
from ..key import Key
from ..key.formats import DATE
from ..key.ranges import Between, Prefix
from ..limits import SYSTEM_PROPERTIES
from .codecs import required
from .options import Upgrade
from .record import Record
from .scalar_codecs import Codec, DatetimeCodec, EnumCodec, SecretCodec, TicksCodec, TypeMismatch

M = TypeVar("M")

_MAX_MESSAGE: Final = 200
"""The most characters of a message of the user's code in an error, which may quote large values."""
_SYSTEM: Final = frozenset(SYSTEM_PROPERTIES)


class Model(Generic[M]):
    """How the instances of a class are stored as entities with a key.

    :param upgrades: the first converts fields of version 1 to version 2, and so on. They must not change key fields
    :param secret: the fields whose values errors must not show
    :param record: the fields of several classes that it speaks for; None for those of the class
    """

    def __init__(
        self,
        model_class: type[M],
        key: Key,
        *,
        upgrades: Sequence[Upgrade] = (),
        secret: Collection[str] = (),
        record: Record | None = None,
        name: str | None = None,
    ) -> None:
        self.model_class = model_class
        self.name = name or model_class.__name__
        self.upgrades = tuple(upgrades)
        self.version = len(self.upgrades) + 1
        """The version of new entities."""
        self._key = key
        self.record = Record(model_class) if record is None else record
        self.members = self.record.members.keys()
        self._secret = frozenset(secret)
        self._check_names()
        self._check_secrets()
        self._days = _days(key, self.record)
        self._check_formats("key", key)

    def fields(self, value: object) -> dict[str, Any]:
        """Return the fields of a value as the set stores them, once its class has accepted them."""
        return self.accepted(self.encoded(value))

    def encoded(self, value: object) -> dict[str, Any]:
        """Return the fields of a value as the set stores them, without asking its class."""
        self.check_class(value)
        try:
            fields = self.record.encoded(value)
        except TypeMismatch as mismatch:
            self._reject(mismatch)
        return fields | {name: getattr(value, name) for name in self._days if name in fields}

    def check_class(self, value: object) -> None:
        """Reject an instance of another class; a subclass may have fields that would be lost."""
        if type(value) is not self.model_class:
            rule = f"the set has the model {self.name}, not {type(value).__name__}"
            if isinstance(value, self.model_class):
                rule += ", whose own fields would be lost"
            raise BadInput("entity", NOT_SHOWN, rule, f"pass a {self.name}, or use without_model()")

    def accepted(self, fields: Mapping[str, Any], entity: Entity | None = None) -> dict[str, Any]:
        """Return fields that will be stored, once the class has accepted them; what it converts is converted.

        An instance may have been changed since its class checked it, and a change of one field may not fit the others.

        :param entity: the entity that they are stored in place of; None for a new one
        """
        converted = self._converted(fields, entity)
        if converted and self._converted({**fields, **converted}, entity):
            rule = "its class changes the field whenever an instance is built from the fields"
            raise BadProperty(f"{self.name}.{min(converted)}", NOT_SHOWN, rule, "make __init__ keep its own results")
        return {**fields, **converted}

    def _converted(self, fields: Mapping[str, Any], entity: Entity | None) -> dict[str, Any]:
        """Return those fields that the class converts to another value, as they are stored."""
        try:
            instance = self.record.decoded(fields)
        except TypeMismatch as mismatch:
            if entity is None:
                self._reject(mismatch)
            self._unrecognized(entity, mismatch)
        except Exception as error:  # noqa: BLE001 - a class may raise anything
            subject = tuple(fields.get(name) for name in self._key.fields)
            rule = f"its class rejects the fields{self._complaint(error)}"
            rejected = BadProperty(self.name, subject, rule, "change them; nothing was written")
            raise rejected from (None if self._secret else error)
        new_fields = self.encoded(instance)
        return {
            name: value
            for name, value in new_fields.items()
            if name in fields and not self.record.is_same(name, fields[name], value)
        }

    def _complaint(self, error: Exception) -> str:
        """Return the message of a class that rejects its fields, without secret values."""
        details: Any = getattr(error, "errors", None)
        if not callable(details):
            return "" if self._secret else f" ({_short(message_of(error))})"
        # The message of pydantic quotes all values
        lines = [(".".join(map(str, detail["loc"])), detail["msg"]) for detail in cast("Any", details())]
        secret = {"", *self._secret, *(self.record.members[name].parameter for name in self._secret)}
        complaints = [f"{at}: {text}" for at, text in lines if not self._secret or at.partition(".")[0] not in secret]
        return f" ({_short('; '.join(complaints))})" if complaints else ""

    def field(self, name: str, value: object) -> Any:
        """Return one field as it is stored; an undeclared one is returned unchanged."""
        if name not in self.record.members:
            return value
        try:
            return self.record.encoded_field(name, value)
        except TypeMismatch as mismatch:
            self._reject(mismatch)

    def key_fields(self, fields: Mapping[str, Any], key: Key | None = None) -> dict[str, Any]:
        """Return values or ranges of key fields as the key formats them; the primary key by default."""
        days = self._days if key is None else _days(key, self.record)
        plain = days | (fields.keys() - self.record.members.keys())
        return {name: value if name in plain else self._encoded_value(name, value) for name, value in fields.items()}

    def _encoded_value(self, name: str, value: Any) -> Any:
        codec = required(self.record.members[name].codec)
        if isinstance(value, (Prefix, Between)) and not codec.is_sorted:
            raise BadKey(f"{self.name}.{name}", value, _no_order(codec), "give one value, and make a call for each")
        if value is None or isinstance(value, Prefix):
            return value
        if isinstance(value, Between):
            return Between(self._encoded_value(name, value.low), self._encoded_value(name, value.high), value.inclusive)
        try:
            return self.record.encoded_field(name, value)
        except TypeMismatch as mismatch:
            raise BadKey(self._subject(mismatch), self._shown_value(mismatch), mismatch.rule, mismatch.hint) from None

    def key_values(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a key's fields, of the form that the key formats."""
        members = self.record.members
        try:
            return {
                name: members[name].codec.decode(value) if name in members else value for name, value in fields.items()
            }
        except TypeMismatch as mismatch:
            text = f"the key {dict(fields)} does not fit {self.name}: {mismatch.rule}; {mismatch.hint}"
            raise UnrecognizedEntity(text) from None

    def filter(self, where: Filter) -> Filter:
        """Check a filter; return it with what is stored for the values of the fields."""
        return map_comparisons(where, self._stored_comparison)

    def _stored_comparison(self, comparison: Comparison) -> Comparison:
        name, member = comparison.name, self.record.members.get(comparison.name)
        if name in _SYSTEM:
            return comparison
        if member is None:
            near = get_close_matches(name, self.members, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(self.members)}"
            raise BadFilter("where", name, f"{self.name} has no such field", hint)
        codec, subject = required(member.codec), f"{self.name}.{name}"
        value: Any = NOT_SHOWN if name in self._secret else comparison.value
        if not codec.is_comparable:
            rule = f"{codec.name} is stored as text, which the service cannot compare by value"
            raise BadFilter(subject, value, rule, "compare the instances that are read")
        if not codec.is_sorted and comparison.operator not in ("eq", "ne"):
            raise BadFilter(subject, value, _no_order(codec), "use == or !=, joined with |")
        try:
            return Comparison(name, comparison.operator, _compared_value(codec, comparison.value))
        except TypeMismatch as mismatch:
            raise BadFilter(subject, value, mismatch.rule, mismatch.hint) from None

    def value(self, entity: Entity, version: int) -> M:
        return self._decoded(entity, self.upgraded(entity, version))

    def rewritten(self, entity: Entity, version: int, value: object) -> dict[str, Any]:
        """Return the fields of an entity with a new value; undeclared and unchanged fields keep their stored form."""
        before, new = self.upgraded(entity, version), self.fields(value)
        try:
            # Decoded again, since the caller may have changed the original value in place
            old = self.encoded(self._decoded(entity, before))
        except UnrecognizedEntity:
            # What does not fit the model is replaced as a whole
            old = {}
        undeclared = {name: value for name, value in before.items() if name not in self.record.members}
        kept_names = [name for name in new if name in old and name in before and self._same(name, old, new)]
        # A number of 64 bits that was read from a key is an int
        return undeclared | new | {name: before[name] for name in kept_names if not isinstance(new[name], Int64)}

    def upgraded(self, entity: Entity, version: int) -> dict[str, Any]:
        fields = dict(entity)
        for number, upgrade in enumerate(self.upgrades[version - 1 :], version):
            fields = self._next_version(entity, number, upgrade, fields)
            for name in self._key.fields:
                if name not in fields or fields[name] != entity[name]:
                    rule = f"it changed {name}, a field of the key"
                    raise BadDesign("upgrade", f"{self.name}.{number}", rule, "keep the fields of the key unchanged")
        return fields

    def _next_version(self, entity: Entity, number: int, upgrade: Upgrade, fields: dict[str, Any]) -> dict[str, Any]:
        who = f"the upgrade of {self.name} from version {number} to {number + 1}"
        try:
            result: object = upgrade(fields)
        except Exception as error:  # noqa: BLE001 - an upgrade may raise anything
            reason = "" if self._secret else f": {_short(message_of(error))}"
            text = f"{who} raised {type(error).__name__} for the entity {entity.key}{reason}; correct the upgrade"
            raise UnrecognizedEntity(text, entity.key) from (None if self._secret else error)
        if isinstance(result, Coroutine):
            result.close()
        if not isinstance(result, Mapping):
            text = f"{who} returned {type(result).__name__} for the entity {entity.key}; return all its fields"
            raise UnrecognizedEntity(text, entity.key)
        return dict(cast("Mapping[str, Any]", result))

    def check_key(self, place: str, key: Key, *, has_entities: bool) -> None:
        """Reject a key of derived rows that does not hold the values of its fields in their order.

        :param has_entities: whether the rows hold the fields of an entity
        """
        self._check_formats(place, key)
        for name in sorted(self._days):
            if name not in key.fields and has_entities:
                rule = f"the primary key formats the date {name}, and the rows of the index would need it as a property"
                hint = f"format {name} in the key of the index too, or as {{{name}}} in the primary key"
                raise BadDesign(place, key.row_template, rule, hint)
            if key.formats.get(name, DATE) != DATE:
                rule = f"the primary key formats {name} as a date, and this key in another form"
                raise BadDesign(place, key.row_template, rule, f"write {{{name}:{DATE}}} in both, or {{{name}}}")

    def check_days(self, place: str, key: Key) -> None:
        """Reject a key of a copy of the entities that formats a date in another form than the primary key."""
        self.check_key(place, key, has_entities=True)
        for name in sorted(_days(key, self.record) - self._days):
            rule = f"it formats {name} as a date, and the primary key in another form"
            raise BadDesign(place, key.row_template, rule, f"write {{{name}}}, or {{{name}:{DATE}}} in both")

    def _check_formats(self, place: str, key: Key) -> None:
        for name, spec in key.formats.items():
            codec = self.record.members[name].codec if name in self.record.members else None
            if codec is None or spec in codec.in_keys:
                continue
            field, *others = (f"{{{name}:{part}}}" if part else f"{{{name}}}" for part in (spec, *codec.in_keys))
            if not codec.in_keys:
                rule = f"a key does not hold values of {self.name}.{name}, which is {codec.name}, in their order"
                raise BadDesign(place, field, rule, codec.instead)
            rule = f"{self.name}.{name} is {codec.name}, which this format does not take"
            raise BadDesign(place, field, rule, f"write {' or '.join(others)}")

    def _check_secrets(self) -> None:
        for name, member in self.record.members.items():
            if isinstance(required(member.codec), SecretCodec) and name not in self._secret:
                field, rule = f"{self.model_class.__name__}.{name}", "a secret is not stored as plain text"
                raise BadDesign(field, member.codec.name, rule, "encrypt it: Annotated[SecretStr, Encrypted()]")

    def _same(self, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        if name in self._key.fields:
            return bool(old[name] == new[name])
        return same_value({name: old[name]}, {name: new[name]})

    def _decoded(self, entity: Entity, fields: Mapping[str, Any]) -> M:
        try:
            return cast("M", self.record.decoded(fields))
        except TypeMismatch as mismatch:
            self._unrecognized(entity, mismatch)
        except Exception as error:  # noqa: BLE001 - a class may raise anything
            text = f"its class rejects the fields{self._complaint(error)}; repair the entity or the class"
            text = f"the entity {entity.key} is not a valid {self.name}: {text}"
            # The error of the class may quote the values
            raise UnrecognizedEntity(text, entity.key) from (None if self._secret else error)

    def _unrecognized(self, entity: Entity, mismatch: TypeMismatch) -> NoReturn:
        text = f"{mismatch.path} = {short_repr(self._shown_value(mismatch))}: {mismatch.rule}; {mismatch.hint}"
        who = f"the entity {entity.key} is not a valid {self.name}"
        raise UnrecognizedEntity(f"{who}: {text}", entity.key) from None

    def _reject(self, mismatch: TypeMismatch) -> NoReturn:
        kind = BadKey if mismatch.path in self._key.fields else BadProperty
        # Without the cause, whose message may quote the value
        raise kind(self._subject(mismatch), self._shown_value(mismatch), mismatch.rule, mismatch.hint) from None

    def _subject(self, mismatch: TypeMismatch) -> str:
        return f"{self.model_class.__name__}.{mismatch.path}"

    def _shown_value(self, mismatch: TypeMismatch) -> object:
        field = mismatch.path.partition(".")[0].partition("[")[0]
        return NOT_SHOWN if field in self._secret else mismatch.value

    def _check_names(self) -> None:
        for name in self._key.fields:
            if name not in self.record.members:
                rule = f"it lacks {name}, a field of the key"
                raise BadDesign("type", self.model_class.__name__, rule, "add it to the class, as a field of __init__")
        for name in sorted(_SYSTEM.intersection(self.record.members).difference(self._key.fields)):
            rule = "the service has a property with this name"
            raise BadDesign("field", f"{self.model_class.__name__}.{name}", rule, "rename the field")


def _compared_value(codec: Codec, value: Any) -> Any:
    """Return what is stored for the value of a comparison, which holds some values in another form already."""
    if isinstance(value, Ticks) and isinstance(codec, (DatetimeCodec, TicksCodec)):
        # A datetime, as its ticks
        return value
    if isinstance(codec, EnumCodec):
        # A member that is a str or an int, as its value
        return codec.encode(codec.decode(getattr(value, "value", value)))
    return codec.encode(value)


def _no_order(codec: Codec) -> str:
    return f"values of {codec.name} have no order of their own, and what is stored of them may sort in another one"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MAX_MESSAGE else f"{line[: _MAX_MESSAGE - 1]}…"


def _days(key: Key, record: Record) -> set[str]:
    """Return the date fields that the key formats with a date format."""
    return {name for name, spec in key.formats.items() if spec == DATE and name in record.members}
