"""Declare a dataclass as a type of entity, with its set and its earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any, Final, Generic, NoReturn, TypeAlias

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...errors import NOT_SHOWN, BadDesign, BadKey, BadProperty, UnrecognizedEntity, shown
from ...key import Key
from ...key.ranges import Between, Prefix
from ...limits import SYSTEM_PROPERTIES
from ...recipe import Account_co
from ...same_value import same_value
from .codecs import Maybe
from .record import Record
from .scalar_codecs import Codec, Day, Misfit

Upgrade: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Takes the fields of one version, as they are stored, and returns those of the next."""

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

    :param of: the dataclass; the fields of the key are among its own
    :param entities: the set that its entities are in, with all that is derived from them; several types may share one
    :param name: what entities of the type are marked with; by default the class's name
    :param upgrades: the first turns fields of version 1 into those of version 2, and so on; new entities are of the
        version after the last. Each takes all fields as they are stored, and returns all; those of the key must stay
    :raises BadDesign: it is no dataclass, a field cannot be stored or is missing in it, or the name cannot be a mark

    Guide: working with heterogeneous entity types (type and version of an entity).
    """

    @checked
    def __init__(
        self,
        of: type[Any],
        entities: EntitySet[Account_co],
        *,
        name: str | None = None,
        upgrades: Sequence[Upgrade] = (),
    ) -> None:
        self.of = of
        self.entities = entities
        self.record = Record(of)
        self.name = of.__name__ if name is None else name
        self.upgrades = tuple(upgrades)
        if not self.name or "." in self.name:
            rule = "it is text, and what follows a dot in a mark is the version"
            raise BadDesign("name", self.name, rule, "give another name")
        self._check_names()
        for index in entities.derived:
            if isinstance(index, Index):
                self._check_days(index.name, index.key)

    @property
    def version(self) -> int:
        """The version of new entities."""
        return len(self.upgrades) + 1

    def fields(self, value: object) -> dict[str, Any]:
        """Return the fields that the set stores of a value.

        :raises BadProperty: a field has a value of another type
        :raises BadKey: so has a field of the key
        """
        try:
            found = self.record.encoded(value)
        except Misfit as misfit:
            self._refuse(misfit)
        days = _days(self.entities.key, self.record)
        return found | {name: getattr(value, name) for name in days if name in found}

    def field(self, name: str, value: object) -> Any:
        """Return one field as it is stored; one that the class does not know is stored as it is given.

        :raises BadProperty: it has a value of another type
        """
        if name not in self.record.members:
            return value
        try:
            return self.record.encoded_field(name, value)
        except Misfit as misfit:
            self._refuse(misfit)

    def asked(self, key: Key, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return values, or ranges of values, of a key's fields as the key takes them.

        :raises BadKey: a value is of another type than the field
        """
        plain = _days(key, self.record) | (fields.keys() - self.record.members.keys())
        return {name: value if name in plain else self._asked(name, value) for name, value in fields.items()}

    def _asked(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, Prefix):
            return value
        if isinstance(value, Between):
            return Between(self._asked(name, value.low), self._asked(name, value.high), value.inclusive)
        try:
            return self.record.encoded_field(name, value)
        except Misfit as misfit:
            raise BadKey(self._subject(misfit), self._shown(misfit), misfit.rule, misfit.hint) from None

    def value(self, entity: Entity, version: int) -> Any:
        """Return the object that an entity is.

        :raises UnrecognizedEntity: it lacks a field, or holds another type there
        """
        return self._decoded(entity, self.upgraded(entity, version))

    def rewritten(self, entity: Entity, version: int, value: object) -> dict[str, Any]:
        """Return the fields of an entity once it is this value: what the class does not know stays as it is.

        So does what the value does not change, to the type that it is stored with.
        """
        before = self.upgraded(entity, version)
        # Not the value that the caller was given, which may have been changed in place
        old, new = self.fields(self._decoded(entity, before)), self.fields(value)
        kept = {name: each for name, each in before.items() if name not in self.record.members}
        same = {name: before[name] for name in new if name in old and name in before and self._same(name, old, new)}
        return kept | new | same

    def upgraded(self, entity: Entity, version: int) -> dict[str, Any]:
        """Return the fields of an entity in the version of new ones.

        :raises BadDesign: an upgrade changed a field of the key
        """
        fields = dict(entity)
        for number, upgrade in enumerate(self.upgrades[version - 1 :], version):
            fields = dict(upgrade(fields))
            for name in self.entities.key.fields:
                if name not in fields or fields[name] != entity[name]:
                    rule = f"it changed {name}, a field of the key"
                    raise BadDesign("upgrade", f"{self.name}.{number}", rule, "leave the fields of the key as they are")
        return fields

    def _same(self, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        if name in self.entities.key.fields:
            return bool(old[name] == new[name])
        return same_value({name: old[name]}, {name: new[name]})

    def _decoded(self, entity: Entity, fields: Mapping[str, Any]) -> Any:
        who = f"the entity {entity.key} is no {self.name}"
        try:
            return self.record.decoded(fields)
        except Misfit as misfit:
            text = f"{misfit.path} = {shown(self._shown(misfit))}: {misfit.rule}; {misfit.hint}"
            raise UnrecognizedEntity(f"{who}: {text}") from None
        except (TypeError, ValueError) as error:
            raise UnrecognizedEntity(f"{who}: its class refuses the fields; mend the entity, or the class") from error

    def _refuse(self, misfit: Misfit) -> NoReturn:
        kind = BadKey if misfit.path in self.entities.key.fields else BadProperty
        # What a text could not be read as tells of the text: no cause is shown
        raise kind(self._subject(misfit), self._shown(misfit), misfit.rule, misfit.hint) from None

    def _subject(self, misfit: Misfit) -> str:
        return f"{self.of.__name__}.{misfit.path}"

    def _shown(self, misfit: Misfit) -> object:
        field = misfit.path.partition(".")[0].partition("[")[0]
        return NOT_SHOWN if field in self.entities.mappings.secret else misfit.value

    def _check_names(self) -> None:
        for name in self.entities.key.fields:
            if name not in self.record.members:
                rule = f"the key needs a field {name}"
                raise BadDesign("type", self.of.__name__, rule, "add it to the dataclass, as a part of its __init__")
        for name in sorted(_SYSTEM.intersection(self.record.members).difference(self.entities.key.fields)):
            rule = "the service has a property of that name"
            raise BadDesign("field", f"{self.of.__name__}.{name}", rule, "rename the field")

    def _check_days(self, index: str, key: Key) -> None:
        """Reject an index whose key takes a day in another form than it is stored in."""
        mine = _days(self.entities.key, self.record)
        for name in sorted(set(key.fields).intersection(self._day_fields())):
            if (name in _days(key, self.record)) != (name in mine):
                form = "as the primary key does" if name in mine else f"as {{{name}}}: a date is stored as text"
                rule = "the key takes the date in another form than the entity holds it"
                raise BadDesign(f"index {index}", key.row_template, rule, f"write it {form}")

    def _day_fields(self) -> set[str]:
        return {name for name, member in self.record.members.items() if _is_day(member.codec)}

    def __repr__(self) -> str:
        return f"<EntityType {self.name} version={self.version} {self.entities.key}>"


def _days(key: Key, record: Record) -> set[str]:
    """Return the fields that hold a date and that the key spells by a date's own format."""
    pieces = [*Formatter().parse(key.partition_template), *Formatter().parse(key.row_template)]
    named = {name for _, name, spec, _ in pieces if name is not None and "%" in (spec or "")}
    return {name for name in named if name in record.members and _is_day(record.members[name].codec)}


def _is_day(codec: Codec) -> bool:
    return isinstance(codec.inner if isinstance(codec, Maybe) else codec, Day)
