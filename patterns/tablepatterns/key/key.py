"""The key of an entity: two templates that format, parse and search PartitionKey and RowKey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, Generic, cast

from typing_extensions import TypeVar

from ..argument_types import checked
from ..errors import BadDesign, BadInput, BadKey
from ..filters import Interval
from ..limits import MAX_KEY_UNITS, MAX_KEY_UNITS_LOOSE
from .ranges import Between, KeyRange, Prefix
from .template import Field, Template, field_range

T = TypeVar("T")
K = TypeVar("K", default=Mapping[str, object])
"""What names an entity: a class with the fields of a key, or a mapping of them."""


class Key(Generic[K]):
    """How PartitionKey and RowKey are made from an entity's properties, and parsed back.

    A template is literal text and fields, `{Name}` or `{Name:format}`. Every format keeps the order of its values and
    reads back exactly what was written:

    | format        | values                         | in the key                                 |
    |---------------|--------------------------------|--------------------------------------------|
    | (none)        | `str` that a key may hold      | the text                                   |
    | `escape`      | any `str`                      | the text, forbidden characters spelled out |
    | `06d`         | `int`, 0 or more, in 6 digits  | `000123`                                   |
    | `+06d`        | `int`, signed, in 6 digits     | `1000123`, and `0999877` for -123          |
    | `float`       | `float`                        | 16 hexadecimal digits                      |
    | `ticks`       | aware `datetime` or `Ticks`    | 19 digits, the oldest first                |
    | `inverted`    | aware `datetime` or `Ticks`    | 19 digits, the newest first                |
    | `%Y-%m-%d`    | `date`                         | `2014-07-31`                               |
    | `%Y-%m-%dT%H` | aware `datetime`, a whole hour | `2014-07-31T22`, in UTC                    |
    | `uuid`        | `UUID`                         | its 36 characters                          |

    The width and a date's pattern are free, as long as the pattern starts at `%Y` and goes down without a gap, to `%f`
    at most. A value that cannot be part of the key is rejected; none is truncated, rounded or replaced. Two different
    sets of values never make the same key. Where plain text is followed by more of the key, the keys read back but
    sort by the whole and not by that text; `escape`, which ends the text with a space there, sorts everywhere.

    >>> reviews = Key("{Department}", "empid_{EmployeeId:06d}_{Year:04d}")
    >>> reviews.format({"Department": "Sales", "EmployeeId": 123, "Year": 2012})
    ('Sales', 'empid_000123_2012')
    >>> reviews.parse("Sales", "empid_000123_2012")
    {'Department': 'Sales', 'EmployeeId': 123, 'Year': 2012}

    :param partition_key: the template of the PartitionKey
    :param row_key: the template of the RowKey
    :param fields: a dataclass or NamedTuple with the fields of the key, for type checkers: `get` of a set with this key
        then takes an instance, such as `get(BookingKey("red", 9))`
    :param max_units: the maximum length of each in UTF-16 code units, up to 1024; Microsoft's documents agree on 512
    :raises BadDesign: a template cannot be parsed back, or names a field twice; or the class has other fields

    Guide: compound key.
    """

    @checked
    def __init__(
        self, partition_key: str, row_key: str, fields: type[K] | None = None, *, max_units: int = MAX_KEY_UNITS
    ) -> None:
        if not 1 <= max_units <= MAX_KEY_UNITS_LOOSE:
            rule = f"a key has 1 to {MAX_KEY_UNITS_LOOSE} UTF-16 code units"
            raise BadDesign("max_units", max_units, rule, "leave it out")
        self.max_units = max_units
        self.partition_template: Final = partition_key
        """The template of the PartitionKey."""
        self.row_template: Final = row_key
        """The template of the RowKey."""
        self._partition = Template.of("PartitionKey", partition_key, max_units)
        self._row = Template.of("RowKey", row_key, max_units)
        self.partition_fields: Final = tuple(field.name for field in self._partition.fields)
        """The names of the PartitionKey's fields, from left to right."""
        self.row_fields: Final = tuple(field.name for field in self._row.fields)
        """The names of the RowKey's fields, from left to right."""
        self.fields: Final = self.partition_fields + self.row_fields
        """The names of all fields, those of the PartitionKey first."""
        self.formats: Final = {field.name: field.format.spec for field in (*self._partition.fields, *self._row.fields)}
        """The format of each field, as the table above names it: `06d` for one with any number of digits."""
        self._names = frozenset(self.fields)
        self._last_partition: tuple[str, dict[str, object]] | None = None
        for name in self.fields:
            if self.fields.count(name) > 1:
                raise BadDesign("the key's fields", name, "the field occurs twice", "use each field once")
        if fields is not None and frozenset(names := record_fields(fields)) != self._names:
            rule = f"the templates have the fields {', '.join(self.fields)}"
            raise BadDesign(f"fields of {fields.__name__}", list(names), rule, "declare these, and no others")

    def format(self, fields: Mapping[str, object]) -> tuple[str, str]:
        """Return the PartitionKey and the RowKey for these values.

        :param fields: a value for every field of the key, and nothing else
        :raises BadKey: a field is missing or unknown, or its value cannot be part of a key
        """
        if not isinstance(fields, Mapping):
            raise BadKey("fields", fields, "the fields of a key must be a mapping", 'pass {"Department": "Sales"}')
        if not fields.keys() <= self._names:
            self._reject_unknown(fields)
        return self._partition.write(fields), self._row.write(fields)

    def keys_of(self, entity: Mapping[str, object]) -> tuple[str, str]:
        """Return the PartitionKey and the RowKey of an entity; its other fields are ignored.

        >>> Key("{Department}", "empid_{EmployeeId:06d}").keys_of({"Department": "Sales", "EmployeeId": 1, "Age": 34})
        ('Sales', 'empid_000001')

        :param entity: the fields of the key, and any others
        :raises BadKey: a field is missing, or its value cannot be part of a key
        """
        if not isinstance(entity, Mapping):
            raise BadKey("entity", entity, "the fields of a key must be a mapping", 'pass {"Department": "Sales"}')
        return self._partition.write(entity), self._row.write(entity)

    def parse(self, partition_key: str, row_key: str) -> dict[str, object]:
        """Return the values of these keys: the inverse of `format`.

        An instant comes back as an aware datetime in UTC; one that microseconds cannot hold comes back as `Ticks`.

        :param partition_key: the entity's PartitionKey
        :param row_key: the entity's RowKey
        :raises BadKey: `format` cannot have returned these keys
        """
        if type(partition_key) is not str or type(row_key) is not str:
            _check_texts(partition_key, row_key)
        last = self._last_partition
        if last is None or last[0] != partition_key:
            # All rows of a range have the same PartitionKey
            last = self._last_partition = partition_key, self._partition.read(partition_key)
        return last[1] | self._row.read(row_key)

    def matches(self, partition_key: str, row_key: str) -> bool:
        """Whether these keys match the templates, so that `parse` accepts them.

        >>> Key("{Department}", "empid_{EmployeeId:06d}").matches("Sales", "empid_000123_2012")
        False
        """
        return self.parse_or_none(partition_key, row_key) is not None

    def parse_or_none(self, partition_key: str, row_key: str) -> dict[str, object] | None:
        """Return the values of these keys, or None if they do not match the templates.

        >>> Key("{Department}", "empid_{EmployeeId:06d}").parse_or_none("Sales", "empid_000123")
        {'Department': 'Sales', 'EmployeeId': 123}

        :param partition_key: the entity's PartitionKey
        :param row_key: the entity's RowKey
        :raises BadKey: a key is not a str
        """
        if type(partition_key) is not str or type(row_key) is not str:
            _check_texts(partition_key, row_key)
        try:
            return self.parse(partition_key, row_key)
        except BadKey:
            return None

    @checked
    def overlaps(self, other: Key) -> bool:
        """Whether a row could match both keys, with the same PartitionKey and RowKey.

        It follows from literal text and formats alone. Six digits are never `email_` and more, nor seven digits:

        >>> employees, emails = Key("{Department}", "{EmployeeId:06d}"), Key("{Department}", "email_{Email}")
        >>> employees.overlaps(emails), employees.overlaps(Key("{Department}", "{LastName}"))
        (False, True)

        :param other: the key of other rows of the same table
        """
        return self._overlap(self, other)

    @checked
    def extended(self, child: str) -> Key:
        """Return the key of child entities in the same partition.

        >>> Key("{Department}", "empid_{EmployeeId:06d}").extended("_{Year:04d}")
        Key('{Department}', 'empid_{EmployeeId:06d}_{Year:04d}')

        :param child: what follows the parent's RowKey: literal text, then the fields of the child
        :raises BadDesign: where a longer key could be another parent's, since this one does not end with a field of
            fixed width, or where the whole cannot be read back
        """
        last = self._row.fields[-1] if self._row.fields else None
        if last is None or last.tail or last.format.width is None:
            rule = "the key of a parent must end with a field of fixed width"
            raise BadDesign("parent", self.row_template, rule, "end it with a format such as {Id:06d}")
        return Key(self.partition_template, self.row_template + child, max_units=self.max_units)

    @checked
    def range(self, fields: Mapping[str, object]) -> KeyRange:
        """Return the range of rows that match these fields.

        The partition's fields must be known. The row's fields are given from left to right; the last one given may be
        a `prefix`, a `between` or one of its neighbours, and the ones after it are left out.

        Of this key's rows the range holds those that fit, every one and no other: a known `f34` never finds `f340`.
        The range may contain rows of other keys, unless the literal text differs; check with `matches`.

        >>> from tablepatterns.key import prefix
        >>> by_email = Key("{Department}", "email_{Email}")
        >>> by_email.range({"Department": "Sales", "Email": prefix("a")}).row_keys
        Interval(lower='email_a', lower_inclusive=True, upper='email_b', upper_inclusive=False)

        :param fields: values, and at most one `prefix` or range
        :raises BadKey: a value cannot be part of a key, or the fields are not one range of rows

        Guide: intra-partition secondary index.
        """
        partition_key = self._partition_of(fields)
        row_prefix, remaining_fields = self._known_row(fields)
        if not remaining_fields:
            row_key = self._row.write(fields)
            return KeyRange(partition_key, Interval(row_key, upper=row_key))
        first_field, *after = remaining_fields
        for field in after:
            if field.name in fields:
                rule = f"{first_field.name}, to its left, has no single value, so the rows are not one range"
                hint = f"give {first_field.name} a single value, or omit this field"
                raise BadKey(field.name, fields[field.name], rule, hint)
        question = fields.get(first_field.name)
        if isinstance(question, Between):
            return field_range(partition_key, row_prefix, first_field, question, last=not after)
        if isinstance(question, Prefix):
            row_prefix += first_field.write_prefix(question.text)
        return KeyRange.beginning_with(partition_key, row_prefix)

    @checked
    def family(self, fields: Mapping[str, object]) -> KeyRange:
        """Return the range of the row with these values, and of its children, whose keys continue its key.

        So one range query reads an employee together with the reviews of that employee. Only known values can be
        given, and the last must be of a fixed width: the family of the text `f34` would take in `f340`.

        >>> employees = Key("{Department}", "empid_{EmployeeId:06d}")
        >>> rows = employees.family({"Department": "Sales", "EmployeeId": 123})
        >>> rows.contains("Sales", "empid_000123"), rows.contains("Sales", "empid_000123_2012")
        (True, True)

        :param fields: the partition's fields, and the row's from left to right, at least one
        :raises BadKey: a value cannot be part of a key, or the last one is text
        """
        partition_key = self._partition_of(fields)
        row_prefix, remaining_fields = self._known_row(fields)
        for field in remaining_fields:
            if field.name in fields:
                rule = "a family takes only exact values, from left to right"
                raise BadKey(field.name, fields[field.name], rule, "omit it, or use range()")
        exact_fields = self._row.fields[: len(self._row.fields) - len(remaining_fields)]
        if exact_fields and exact_fields[-1].format.width is None:
            name, hint = exact_fields[-1].name, "use range(), or a format of fixed width"
            raise BadKey(name, fields[name], "the family would include longer texts", hint)
        if exact_fields and remaining_fields:
            row_prefix = row_prefix.removesuffix(exact_fields[-1].tail)
        return KeyRange.beginning_with(partition_key, row_prefix)

    def _partition_of(self, fields: Mapping[str, object]) -> str:
        if not fields.keys() <= self._names:
            self._reject_unknown(fields)
        for name in self.partition_fields:
            if isinstance(fields.get(name), (Prefix, Between)):
                rule = "a range is in one partition, so every field of the PartitionKey needs a value"
                raise BadKey(name, fields[name], rule, "read each partition separately")
        return self._partition.write(fields)

    def _known_row(self, fields: Mapping[str, object]) -> tuple[str, Sequence[Field]]:
        row_prefix = self._row.head
        for position, field in enumerate(self._row.fields):
            if field.name not in fields or isinstance(fields[field.name], (Prefix, Between)):
                return row_prefix, self._row.fields[position:]
            row_prefix += field.write(fields[field.name])
        return row_prefix, ()

    def _reject_unknown(self, fields: Mapping[str, object]) -> None:
        for name, value in fields.items():
            if name not in self.fields:
                raise BadKey(name, value, "the key has no such field", f"its fields are {', '.join(self.fields)}")

    def __repr__(self) -> str:
        return f"Key({self.partition_template!r}, {self.row_template!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and (self._partition, self._row) == (other._partition, other._row)

    @staticmethod
    @lru_cache(maxsize=4096)
    def _overlap(one: Key, other: Key) -> bool:
        return one._partition.language.meets(other._partition.language) and one._row.language.meets(other._row.language)

    def __hash__(self) -> int:
        return hash((self._partition, self._row))


def record_fields(record: object) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or a NamedTuple, or of an instance; empty for anything else."""
    if is_dataclass(record):
        return tuple(field.name for field in fields(record))
    return cast("tuple[str, ...]", getattr(record, "_fields", ()))


def as_mapping(key: object) -> Mapping[str, Any]:
    """Return the fields of a key that a call got as one mapping, or as one instance with fields."""
    if isinstance(key, Mapping):
        return cast("Mapping[str, Any]", key)
    if names := record_fields(key):
        return {name: getattr(key, name) for name in names}
    rule = f"the fields of a key are passed as one mapping or as keywords, not as {type(key).__name__}"
    raise BadInput("key", key, rule, 'write {"Department": "Sales"} or Department="Sales"')


def fields_of(key: object, keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a key; those in the mapping cannot clash with parameters of the call."""
    if key is None:
        return keywords
    key_fields = as_mapping(key)
    for name in keywords:
        if name in key_fields:
            raise BadKey(name, keywords[name], "the mapping has the field too", "pass each field once")
    return {**key_fields, **keywords}


def via_and_fields(
    via: T | Mapping[str, Any] | None, key: Mapping[str, Any] | None, keywords: Mapping[str, Any]
) -> tuple[T | None, Mapping[str, Any]]:
    """Return what may come first in a call, such as an index, and the fields; the fields may come first as well."""
    if not isinstance(via, Mapping):
        return via, fields_of(key, keywords)
    if key is not None:
        raise BadInput("key", key, "the call has the fields as a mapping already", "pass one mapping")
    return None, fields_of(cast("Mapping[str, Any]", via), keywords)


def _check_texts(partition_key: object, row_key: object) -> None:
    for name, text in (("PartitionKey", partition_key), ("RowKey", row_key)):
        if not isinstance(text, str):
            raise BadKey(name, text, f"a key must be a str, not {type(text).__name__}", "pass the stored key")
