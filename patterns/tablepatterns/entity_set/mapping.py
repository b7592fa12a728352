"""Property mappings: encode the fields of an entity as stored properties, such as encrypted or in blobs.

A mapping encodes fields before a write and decodes them after a read. The primary row and all derived rows hold the
same stored properties, so entities can be read from either. Fields of the primary key are never mapped.

The mappings of a set are applied in their `order`. Encryption comes before large properties, so blobs hold no
plaintext.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..errors import BadDesign, BadFilter, BadInput
from ..filters import Filter, comparisons
from ..limits import MAX_ENTITY_BYTES

if TYPE_CHECKING:
    from ..key import Key
    from ..models.annotations import StoredBy
    from ..recipe import Account
    from .derived import Change

Fields: TypeAlias = Mapping[str, Any]
Action: TypeAlias = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Place:
    """The account, table and keys of an entity's primary row, even if a copy of it is read."""

    account: Account
    table: str
    key: tuple[str, str]
    room: int = MAX_ENTITY_BYTES
    """The maximum size of the entity in bytes; larger than a row if the entity is stored in several rows."""
    read: Collection[str] | None = ()
    """The requested fields; None for all."""
    stored: Fields = field(default_factory=dict[str, Any], repr=False)
    """The stored fields that a write replaces, as they were read; empty if unknown."""
    before: Fields = field(default_factory=dict[str, Any], repr=False)
    """The same fields as they were decoded."""
    kept_names: Collection[str] = ()
    """The fields whose stored form a write leaves as it was read."""


@dataclass(frozen=True)
class Encoded:
    """The stored form of fields, and the actions to run before the row is written, in order.

    The actions run after all checks. If the write then fails, they may leave orphans, such as blobs.
    """

    fields: dict[str, Any]
    before: tuple[Action, ...] = ()


class PropertyMapping(ABC):
    """A way to encode fields. It has no account, so sets may share one object."""

    name: ClassVar[str]
    """The name that errors use."""
    order: ClassVar[int]
    """Mappings of a lower order encode first, and decode last."""
    allows_merge: ClassVar[bool] = True
    """Whether a merge may write some of its fields without the others."""
    needs_model: bool = False
    """Whether the model of a set declares its fields."""
    declared_by: ClassVar[type[StoredBy] | None] = None
    """The annotation with which a model declares its fields."""
    keeps_secret: ClassVar[bool] = False
    """Whether errors must not show the values of its fields."""

    @property
    @abstractmethod
    def fields(self) -> Collection[str]:
        """The names of the encoded fields, which cannot be used in filters."""

    def stored(self, name: str) -> Collection[str]:
        """Return the names of the properties that a field is decoded from."""
        return (name,)

    def written_names(self, name: str) -> Collection[str]:
        """Return the names of all properties that a field is written to, also of those that decoding does not need."""
        return self.stored(name)

    def _stored_size(self, size: int, *, is_text: bool, address: int) -> tuple[int, int]:
        return size, 0

    def _added_properties(self, names: Collection[str]) -> dict[str, int]:
        return {}

    def of_model(self, model: type[Any]) -> PropertyMapping:
        """Return this mapping for the fields that a model declares, or unchanged if it names its own fields."""
        return self

    def names_to_keep(self, unchanged: Collection[str], fields: Fields, place: Place) -> Collection[str]:
        """Return which of the unchanged fields may keep their stored form: without a rule, those of other mappings."""
        return [name for name in unchanged if name not in self.fields]

    @abstractmethod
    async def encode(self, fields: Fields, place: Place) -> Encoded:
        """Return the stored form of the fields of an entity or of a merge; nothing is sent yet.

        A field in `place.kept_names` keeps its stored form.
        """

    @abstractmethod
    async def decode(self, fields: Fields, place: Place) -> dict[str, Any]:
        """Return the decoded fields; some properties may be missing because of a projection."""


def stored_size(mapping: PropertyMapping, size: int, *, is_text: bool, address: int) -> tuple[int, int]:
    """Return the bytes that a value takes in the row and in a blob, for a design review.

    :param address: the length in characters of what identifies it: table, keys and name
    """
    return mapping._stored_size(size, is_text=is_text, address=address)  # pyright: ignore[reportPrivateUsage]


def header_of(mapping: PropertyMapping, names: Collection[str]) -> dict[str, int]:
    """Return the sizes in bytes of the properties that a mapping adds to an entity with these fields."""
    return mapping._added_properties(names)  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True)
class Mappings:
    """The mappings of a set, in encoding order."""

    account: Account
    table: str
    key: Key
    mappings: tuple[PropertyMapping, ...] = field(default=())

    @classmethod
    def of(cls, account: Account, table: str, key: Key, mappings: Iterable[PropertyMapping]) -> Mappings:
        ordered_mappings = tuple(sorted(mappings, key=lambda mapping: mapping.order))
        for mapping in ordered_mappings:
            if mapping.needs_model:
                rule = "it names no properties, and the set has no model that declares them"
                raise BadDesign(f"mapping {mapping.name}", (), rule, "pass the names, or leave the mapping out")
            for name in sorted(set(mapping.fields).intersection(key.fields)):
                rule = "it is a field of the primary key, which is stored unchanged"
                raise BadDesign(f"mapping {mapping.name}", name, rule, "map other fields, or use others in the key")
        if len({mapping.order for mapping in ordered_mappings}) < len(ordered_mappings):
            names = [mapping.name for mapping in ordered_mappings]
            raise BadDesign("mappings", names, "a set has only one mapping of each kind", "give all its fields to one")
        return cls(account, table, key, ordered_mappings)

    @property
    def secret(self) -> frozenset[str]:
        """The names of the fields whose values errors must not show."""
        return frozenset(name for mapping in self.mappings if mapping.keeps_secret for name in mapping.fields)

    def check_held(self, derived: str, property_names: Collection[str]) -> None:
        """Reject derived rows that hold only some of the properties that a field is decoded from."""
        missing = set(self.stored(property_names)).difference(property_names, self.key.fields)
        if missing:
            rule = f"its rows would lack {', '.join(sorted(missing))}, which mapped fields are decoded from"
            hint = "include these too, or leave out the mapped fields"
            raise BadDesign(f"index {derived}", sorted(property_names), rule, hint)

    def check_read(self, derived: str, read: Collection[str]) -> None:
        for mapping in self.mappings:
            for name in sorted(set(read).intersection(mapping.fields)):
                rule = f"{mapping.name} stores it encoded, so nothing can be derived from it"
                raise BadDesign(f"derived {derived}", name, rule, "use another field, such as its blind index")

    def check_merge(self) -> None:
        for mapping in self.mappings:
            if not mapping.allows_merge:
                rule = f"with {mapping.name}, only whole entities can be written"
                raise BadInput("merge", mapping.name, rule, "read the entity, change it, and replace it")

    def check_filter(self, where: Filter) -> None:
        names = {comparison.name for comparison in comparisons(where)}
        for mapping in self.mappings:
            for name in sorted(names.intersection(mapping.fields)):
                rule = f"{mapping.name} stores it encoded, so no condition on it can match"
                raise BadFilter("where", name, rule, "use other properties in the filter, or filter in Python")

    def stored(self, names: Collection[str]) -> Sequence[str]:
        for mapping in self.mappings:
            names = [stored for name in names for stored in mapping.stored(name)]
        return list(dict.fromkeys(names))

    def written_names(self, names: Collection[str]) -> Sequence[str]:
        for mapping in self.mappings:
            names = [property_name for name in names for property_name in mapping.written_names(name)]
        return list(dict.fromkeys(names))

    async def encode(self, change: Change, before: Fields) -> tuple[Change, tuple[Action, ...]]:
        """Return the stored form of a change, and the actions to run before the write.

        :param before: the fields of `change.old` as they were decoded; empty if unknown
        """
        if not self.mappings or change.new is None:
            return change, ()
        fields: Fields = change.new
        if change.merged is not None:
            self.check_merge()
            fields = {name: value for name, value in fields.items() if name in change.merged}
        place = self._place(change.new)
        if before and change.old and self._place(change.old).key == place.key:
            place = replace(place, stored=change.old, before=before)
        encoded = await self.encode_at(place, fields)
        if change.merged is None:
            return replace(change, new=encoded.fields), encoded.before
        old_fields = {**(change.old or {}), **{name: change.new[name] for name in self.key.fields}}
        merged_names = frozenset(encoded.fields)
        return replace(change, new={**old_fields, **encoded.fields}, merged=merged_names), encoded.before

    async def encode_at(self, place: Place, fields: Fields) -> Encoded:
        before_write = place.before
        names: Collection[str] = [name for name in fields if _is_unchanged(fields[name], before_write.get(name))]
        for mapping in self.mappings:
            names = mapping.names_to_keep(names, fields, place)
        place = replace(place, kept_names=names)
        before: list[Action] = []
        for mapping in self.mappings:
            encoded = await mapping.encode(fields, place)
            fields = encoded.fields
            before.extend(encoded.before)
        return Encoded(dict(fields), tuple(before))

    async def decode(self, fields: Fields, read: Collection[str] | None = ()) -> dict[str, Any]:
        """Return the decoded fields of an entity of which these fields were read; None for all."""
        return await self.decode_at(replace(self._place(fields), read=read), fields) if self.mappings else dict(fields)

    async def decode_at(self, place: Place, fields: Fields) -> dict[str, Any]:
        for mapping in reversed(self.mappings):
            fields = await mapping.decode(fields, place)
        return dict(fields)

    def _place(self, fields: Fields) -> Place:
        return Place(self.account, self.table, self.key.format({name: fields.get(name) for name in self.key.fields}))


def _is_unchanged(value: object, old_value: object) -> bool:
    # Values of other types may have been changed in place
    return type(value) in (str, bytes) and type(value) is type(old_value) and value == old_value
