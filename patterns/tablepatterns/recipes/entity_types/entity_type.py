"""Declare a dataclass as a type of entity, with its set and its earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any, Final, Generic, NoReturn, TypeAlias

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import mappings_of
from ...errors import NOT_SHOWN, BadDesign, BadKey, BadProperty, UnrecognizedEntity, shown
from ...key import Key
from ...key.ranges import Between, Prefix
from ...limits import SYSTEM_PROPERTIES
from ...recipe import Account_co
from ...same_value import same_value
from .codecs import OptionalOf
from .record import Record
from .scalar_codecs import Codec, DateCodec, TypeMismatch

Upgrade: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Takes the stored fields of one version, and returns those of the next."""

_SYSTEM: Final = frozenset(SYSTEM_PROPERTIES)


class EntityType(Generic[Account_co]):
    """Declare a dataclass as a type of entity, for `EntityTypes`.

    >>> from dataclasses import dataclass
    >>> from tablepatterns import EntitySet, Key, connect
    >>> @dataclass(frozen=True)
    ... class Department:
    ...     Department: str
    ...     EmployeeCount: int = 0
    >>> EntityType(Department, EntitySet(connect(), "Staff", Key("{Department}", "DEPARTMENT")))
    <EntityType Department version=1 Key('{Department}', 'DEPARTMENT')>

    :param entity_class: the dataclass; it must have the fields of the key
    :param entity_set: the set of its entities, with their derived data; several types may share one
    :param name: the stored name of the type; None for the name of the class
    :param upgrades: the first converts fields of version 1 to version 2, and so on; new entities have the version after
        the last. Each takes and returns all stored fields, and must not change those of the key
    :raises BadDesign: it is not a dataclass, it lacks a field of the key or has one that cannot be stored, or the name
        is invalid

    Guide: working with heterogeneous entity types (type and version of an entity).
    """

    @checked
    def __init__(
        self,
        entity_class: type[Any],
        entity_set: EntitySet[Account_co],
        *,
        name: str | None = None,
        upgrades: Sequence[Upgrade] = (),
    ) -> None:
        self.entity_class = entity_class
        self.entity_set = entity_set
        self.record = Record(entity_class)
        self.name = entity_class.__name__ if name is None else name
        self.upgrades = tuple(upgrades)
        if not self.name or "." in self.name:
            rule = "it must not be empty, and a dot separates it from the version"
            raise BadDesign("name", self.name, rule, "use another name")
        self._check_names()
        for index in entity_set.derived:
            if isinstance(index, Index):
                self._check_days(index.name, index.key)

    @property
    def version(self) -> int:
        """The version of new entities."""
        return len(self.upgrades) + 1

    def fields(self, value: object) -> dict[str, Any]:
        """Return the fields of a value as the set stores them.

        :raises BadProperty: a value does not fit its field
        :raises BadKey: a value does not fit a field of the key
        """
        try:
            found = self.record.encoded(value)
        except TypeMismatch as mismatch:
            self._reject(mismatch)
        days = _days(self.entity_set.key, self.record)
        return found | {name: getattr(value, name) for name in days if name in found}

    def field(self, name: str, value: object) -> Any:
        """Return one field as it is stored; an undeclared one is returned unchanged.

        :raises BadProperty: the value does not fit the field
        """
        if name not in self.record.members:
            return value
        try:
            return self.record.encoded_field(name, value)
        except TypeMismatch as mismatch:
            self._reject(mismatch)

    def encoded_fields(self, key: Key, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return values, or ranges of values, of a key's fields in the form that the key formats.

        :raises BadKey: a value does not fit its field
        """
        plain = _days(key, self.record) | (fields.keys() - self.record.members.keys())
        return {name: value if name in plain else self._encoded_value(name, value) for name, value in fields.items()}

    def _encoded_value(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, Prefix):
            return value
        if isinstance(value, Between):
            return Between(self._encoded_value(name, value.low), self._encoded_value(name, value.high), value.inclusive)
        try:
            return self.record.encoded_field(name, value)
        except TypeMismatch as mismatch:
            raise BadKey(self._subject(mismatch), self._shown(mismatch), mismatch.rule, mismatch.hint) from None

    def value(self, entity: Entity, version: int) -> Any:
        """Return the object of an entity.

        :raises UnrecognizedEntity: the entity lacks a field, or has a value of another type
        """
        return self._decoded(entity, self.upgraded(entity, version))

    def rewritten(self, entity: Entity, version: int, value: object) -> dict[str, Any]:
        """Return the fields of an entity with a new value; undeclared and unchanged fields keep their stored form."""
        before = self.upgraded(entity, version)
        # Decoded again, since the caller may have changed the original value in place
        old, new = self.fields(self._decoded(entity, before)), self.fields(value)
        kept = {name: each for name, each in before.items() if name not in self.record.members}
        same = {name: before[name] for name in new if name in old and name in before and self._same(name, old, new)}
        return kept | new | same

    def upgraded(self, entity: Entity, version: int) -> dict[str, Any]:
        """Return the fields of an entity in the current version.

        :raises BadDesign: an upgrade changed a field of the key
        """
        fields = dict(entity)
        for number, upgrade in enumerate(self.upgrades[version - 1 :], version):
            fields = dict(upgrade(fields))
            for name in self.entity_set.key.fields:
                if name not in fields or fields[name] != entity[name]:
                    rule = f"it changed {name}, a field of the key"
                    raise BadDesign("upgrade", f"{self.name}.{number}", rule, "keep the fields of the key unchanged")
        return fields

    def _same(self, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        if name in self.entity_set.key.fields:
            return bool(old[name] == new[name])
        return same_value({name: old[name]}, {name: new[name]})

    def _decoded(self, entity: Entity, fields: Mapping[str, Any]) -> Any:
        who = f"the entity {entity.key} is not a valid {self.name}"
        try:
            return self.record.decoded(fields)
        except TypeMismatch as mismatch:
            text = f"{mismatch.path} = {shown(self._shown(mismatch))}: {mismatch.rule}; {mismatch.hint}"
            raise UnrecognizedEntity(f"{who}: {text}") from None
        except (TypeError, ValueError) as error:
            raise UnrecognizedEntity(f"{who}: its class rejects the fields; repair the entity or the class") from error

    def _reject(self, mismatch: TypeMismatch) -> NoReturn:
        kind = BadKey if mismatch.path in self.entity_set.key.fields else BadProperty
        # Without the cause, whose message may quote the value
        raise kind(self._subject(mismatch), self._shown(mismatch), mismatch.rule, mismatch.hint) from None

    def _subject(self, mismatch: TypeMismatch) -> str:
        return f"{self.entity_class.__name__}.{mismatch.path}"

    def _shown(self, mismatch: TypeMismatch) -> object:
        field = mismatch.path.partition(".")[0].partition("[")[0]
        return NOT_SHOWN if field in mappings_of(self.entity_set).secret else mismatch.value

    def _check_names(self) -> None:
        for name in self.entity_set.key.fields:
            if name not in self.record.members:
                rule = f"it lacks {name}, a field of the key"
                raise BadDesign("type", self.entity_class.__name__, rule, "add it to the dataclass, with init=True")
        for name in sorted(_SYSTEM.intersection(self.record.members).difference(self.entity_set.key.fields)):
            rule = "the service has a property with this name"
            raise BadDesign("field", f"{self.entity_class.__name__}.{name}", rule, "rename the field")

    def _check_days(self, index: str, key: Key) -> None:
        """Reject an index whose key formats a date in another form than the entity stores it."""
        mine = _days(self.entity_set.key, self.record)
        for name in sorted(set(key.fields).intersection(self._day_fields())):
            if (name in _days(key, self.record)) != (name in mine):
                form = "as in the primary key" if name in mine else f"as {{{name}}}, since a date is stored as text"
                rule = "the key formats the date in another form than the entity stores it"
                raise BadDesign(f"index {index}", key.row_template, rule, f"write it {form}")

    def _day_fields(self) -> set[str]:
        return {name for name, member in self.record.members.items() if _is_day(member.codec)}

    def __repr__(self) -> str:
        return f"<EntityType {self.name} version={self.version} {self.entity_set.key}>"


def _days(key: Key, record: Record) -> set[str]:
    """Return the date fields that the key formats with a date format."""
    pieces = [*Formatter().parse(key.partition_template), *Formatter().parse(key.row_template)]
    named = {name for _, name, spec, _ in pieces if name is not None and "%" in (spec or "")}
    return {name for name in named if name in record.members and _is_day(record.members[name].codec)}


def _is_day(codec: Codec) -> bool:
    return isinstance(codec.inner if isinstance(codec, OptionalOf) else codec, DateCodec)
