"""Reach: the stretch of a table's keys that a shared access signature is for, and what else could lie in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .argument_types import checked
from .edm import ordinal
from .entity import check_key
from .errors import BadInput
from .key import Key, KeyRange, after_prefix
from .key.template import Template
from .key.text import FORBIDDEN

_LAST: Final = "\uffff"
"""Sorts after every other character, so that a text with it behind sorts after what else begins with the text."""
_FIRST: Final = " "
"""Sorts before every other character that a key may hold."""


@dataclass(frozen=True)
class Reach:
    """A stretch of keys, its ends included, in the order of the table: by PartitionKey, then by RowKey.

    None is an open end; no end at all is the whole table. Across partitions the rows bound the first and the last
    partition only, and all rows of those between belong to it.

    >>> sales = Reach("Sales", "Sales")
    >>> sales.contains("Sales", "empid_000223"), sales.contains("Marketing", "empid_000001")
    (True, False)

    :param first_partition: the first PartitionKey
    :param last_partition: the last PartitionKey
    :param first_row: the first RowKey of the first partition
    :param last_row: the last RowKey of the last partition
    :raises BadInput: a row is bounded and its partition is not, or the ends are the wrong way round
    :raises BadKey: an end holds a character that no key may

    Guide: shared access signatures (ranges of PartitionKey and RowKey).
    """

    first_partition: str | None = None
    last_partition: str | None = None
    first_row: str | None = None
    last_row: str | None = None

    def __post_init__(self) -> None:
        for which in ("first", "last"):
            partition, row = getattr(self, f"{which}_partition"), getattr(self, f"{which}_row")
            if row is not None and partition is None:
                rule = "rows are bounded within a partition, and a signature without one would be refused"
                raise BadInput(f"{which}_row", row, rule, f"give {which}_partition too")
            for name, value in ((f"{which}_partition", partition), (f"{which}_row", row)):
                if value == "":
                    # The SDK leaves an empty bound out, and the signature would be of the whole table
                    raise BadInput(name, value, "an empty end is no end to the service", "leave it out for an open end")
                if value is not None:
                    check_key("RowKey" if name.endswith("row") else "PartitionKey", value)
        if None not in (self.first_partition, self.last_partition) and self._first > self._last:
            raise BadInput("reach", self, "its first key lies after its last", "exchange the two")

    @classmethod
    @checked
    def of(cls, rows: KeyRange) -> Reach:
        """Return the reach of a range of rows of one partition, no row more.

        An end that does not belong to the range is moved to the nearest key that does. Keys in which U+FFFF follows
        such an end are left out, though the range holds them.

        >>> from tablepatterns import Key, prefix
        >>> rows = Key("{Department}", "email_{Email}").range({"Department": "Sales", "Email": prefix("a")})
        >>> Reach.of(rows).contains("Sales", "email_b"), Reach.of(rows).contains("Sales", "email_azure")
        (False, True)
        """
        lower, upper = rows.lower, rows.upper
        if lower is not None and not rows.lower_inclusive:
            lower += _FIRST
        if upper is not None and not rows.upper_inclusive:
            upper = _before(upper)
        return cls(rows.partition_key, rows.partition_key, lower, upper)

    @property
    def is_everything(self) -> bool:
        """Whether it is the whole table."""
        return self == Reach()

    @property
    def has_rows_of_a_partition(self) -> bool:
        """Whether it is less than whole partitions."""
        return self.first_row is not None or self.last_row is not None

    @checked
    def contains(self, partition_key: str, row_key: str) -> bool:
        """Whether a signature with this reach is for the row with these keys."""
        keys = ordinal(partition_key), ordinal(row_key)
        after_first = self.first_partition is None or keys >= self._first
        if self.last_partition is None:
            return after_first
        if self.last_row is None:
            return after_first and keys[0] <= ordinal(self.last_partition)
        return after_first and keys <= (ordinal(self.last_partition), ordinal(self.last_row))

    @checked
    def meets(self, key: Key) -> bool:
        """Whether a row with that kind of key could lie in it; told by the literal beginning of the RowKey.

        >>> Reach("Sales", "Sales", "empid_000001", "empid_000009").meets(Key("{Department}", "email_{Email}"))
        False
        """
        partitions = Template.of("PartitionKey", key.partition_template, key.max_units)
        first, last = self.first_partition, self.last_partition
        if first is None or first != last:
            return _touches(partitions, first, last)
        if not Key(key.partition_template, "", max_units=key.max_units).matches(first, ""):
            return False
        return _touches(Template.of("RowKey", key.row_template, key.max_units), self.first_row, self.last_row)

    @property
    def _first(self) -> tuple[str, str]:
        return ordinal(self.first_partition or ""), ordinal(self.first_row or "")

    @property
    def _last(self) -> tuple[str, str]:
        row = _LAST if self.last_row is None else self.last_row
        return ordinal(self.last_partition or ""), ordinal(row)


def _touches(template: Template, first: str | None, last: str | None) -> bool:
    """Whether texts of a template may lie from `first` to `last`."""
    head = template.head
    end = after_prefix(head) if template.fields else head + _FIRST
    begins_in_time = last is None or ordinal(head) <= ordinal(last)
    return begins_in_time and (first is None or end is None or ordinal(first) < ordinal(end))


def _before(text: str) -> str:
    """Return an end below a text that leaves out none of the keys before it, but for those with U+FFFF."""
    previous = _previous(text[-1])
    while previous >= _FIRST and FORBIDDEN.match(previous):
        previous = _previous(previous)
    return text[:-1] + (previous + _LAST if previous >= _FIRST else "")


def _previous(character: str) -> str:
    """Return the previous character in UTF-16 order, where the surrogate pairs lie between U+D7FF and U+E000."""
    return {"\U00010000": "\ud7ff", "\ue000": "\U0010ffff"}.get(character) or chr(ord(character) - 1)
