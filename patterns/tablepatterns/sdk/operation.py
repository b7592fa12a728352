"""The writes of an entity group transaction, and its rules, which are checked before sending."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

from azure.core import MatchConditions
from azure.data.tables import EdmType, EntityProperty, UpdateMode

from .. import limits
from ..edm import Int64, Ticks, entity_size
from ..entity import WRITE_ID, Entity, Measured, WriteId, WriteIds, check_key, measure, write_ids_of
from ..errors import BadInput, BadProperty, LimitExceeded

ANY: Final = "*"
"""The ETag of an unconditional write, which overwrites or deletes any version of an existing entity."""

Kind = Literal["insert", "replace", "merge", "insert_or_replace", "insert_or_merge", "delete"]

_PART_BYTES: Final = 1000
"""An upper bound for the headers and the URL of one operation in the body of a transaction."""
_VERSION_BYTE: Final = 6
_INSERTED: Final = 0x80
"""The UUID version of an insert's id, in the high half of a byte; the ids of other writes have version 4."""


def inserted(write_id: WriteId) -> WriteId:
    """Return the id of an insert, which shows that no write came before it."""
    byte = write_id[_VERSION_BYTE] & 0x0F | _INSERTED
    return b"%b%c%b" % (write_id[:_VERSION_BYTE], byte, write_id[_VERSION_BYTE + 1 :])


def is_complete(ids: WriteIds) -> bool:
    """Return whether these are the ids of all writes since the row was inserted."""
    return bool(ids) and ids[-1][_VERSION_BYTE] & 0xF0 == _INSERTED


def weak_etag(etag: str) -> str:
    """Return an ETag as the service requires it: with `W/` and quotes, which other libraries leave out."""
    opaque = etag.strip()
    if not opaque or opaque == ANY:
        return opaque
    opaque = opaque[2:] if opaque[:2] in ("W/", "w/") else opaque
    is_quoted = len(opaque) > 1 and opaque[0] == opaque[-1] == '"'
    return f"W/{opaque}" if is_quoted else f'W/"{opaque}"'


def condition_of(etag: str | None, *, force: bool) -> str | None:
    """Return the ETag that a write is conditional on, `ANY` for an unconditional one; None for that of what was read.

    The service's ETags are weak, and HTTP headers spell them with or without quotes, so each spelling will do.
    """
    if etag is None:
        return ANY if force else None
    if force:
        raise BadInput("etag", etag, "a write is conditional or unconditional, not both", "give one of the two")
    weak = weak_etag(etag) if isinstance(etag, str) else ""
    opaque = weak[3:-1]
    if not opaque or opaque == ANY or '"' in opaque or not (opaque.isascii() and opaque.isprintable()):
        rule = "it is a single ETag, as in `Entity.etag` and the If-Match header"
        raise BadInput("etag", etag, rule, 'to overwrite any version, also instead of "*", pass force=True')
    return weak


@dataclass(frozen=True)
class Operation:
    """One write, already checked: what the service would reject is rejected when the operation is created.

    `etag` is the ETag that replace, merge and delete are conditional on, or `ANY`; `write_ids` are those of the writes
    that it builds on.
    """

    kind: Kind
    partition_key: str
    row_key: str
    etag: str | None = None
    entity: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    write_ids: WriteIds = field(default=(), repr=False)
    """The ids of the writes that this one builds on, of the row that was read."""
    has_room: bool = field(default=True, repr=False)
    """Whether the row has room for the id of this write."""
    becomes: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The whole row after a merge, if it is known."""
    measured_size: int | None = field(default=None, repr=False, compare=False)
    """The `size`, if the check of the entity has computed it."""

    @classmethod
    def insert(cls, entity: Mapping[str, Any]) -> Operation:
        """Create an entity, which must not exist."""
        return cls._of("insert", entity, None)

    @classmethod
    def replace(cls, entity: Mapping[str, Any], etag: str, *, write_ids: WriteIds = ()) -> Operation:
        """Replace an entity; properties that are not given are removed."""
        return cls._of("replace", entity, etag, write_ids)

    @classmethod
    def merge(
        cls, entity: Mapping[str, Any], etag: str, *, becomes: Mapping[str, Any] | None = None, write_ids: WriteIds = ()
    ) -> Operation:
        """Overwrite the given properties; `becomes` is the whole entity after the merge, if it is known."""
        if becomes is None:
            return cls._of("merge", entity, etag, write_ids)
        row, size, has_room = _measure_checked(becomes)
        part = {name: value for name, value in row.items() if name in entity}
        return cls("merge", row["PartitionKey"], row["RowKey"], etag, part, write_ids, has_room, row, size)

    @classmethod
    def insert_or_replace(cls, entity: Mapping[str, Any]) -> Operation:
        return cls._of("insert_or_replace", entity, None)

    @classmethod
    def insert_or_merge(cls, entity: Mapping[str, Any]) -> Operation:
        return cls._of("insert_or_merge", entity, None)

    @classmethod
    def delete(cls, partition_key: str, row_key: str, etag: str, *, write_ids: WriteIds = ()) -> Operation:
        """Delete an entity, which must exist."""
        keys = check_key("PartitionKey", partition_key), check_key("RowKey", row_key)
        return cls("delete", *keys, etag, write_ids=write_ids)

    @classmethod
    def _of(cls, kind: Kind, entity: Mapping[str, Any], etag: str | None, write_ids: WriteIds = ()) -> Operation:
        properties, size, has_room = _measure_checked(entity)
        return cls(
            kind, properties["PartitionKey"], properties["RowKey"], etag, properties, write_ids, has_room, None, size
        )

    @property
    def key(self) -> tuple[str, str]:
        return self.partition_key, self.row_key

    @property
    def is_conditional(self) -> bool:
        """Whether the service rejects it when it is sent again after it was executed."""
        return self.kind == "insert" or self.etag not in (None, ANY)

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The whole row after this write; None for a delete, and if it is not known."""
        if self.kind in ("insert", "replace", "insert_or_replace"):
            return self.entity
        return self.becomes

    def on(self, row: Entity | None) -> Operation:
        """Return the same write on condition that the row is as it was read, None if it does not exist."""
        if row is None:
            return replace(self, kind="insert") if self.kind.startswith("insert") else self
        kind: Kind = "replace" if self.kind == "insert_or_replace" else self.kind
        kind = "merge" if kind == "insert_or_merge" else kind
        return replace(self, kind=kind, etag=row.etag, write_ids=write_ids_of(row))

    @property
    def size(self) -> int:
        """The row's size in bytes, by the published formula."""
        if self.measured_size is not None:
            return self.measured_size
        properties = {name: value for name, value in self.entity.items() if name not in limits.SYSTEM_PROPERTIES}
        return entity_size(self.partition_key, self.row_key, properties)

    @property
    def payload_bound(self) -> int:
        """An upper bound for the bytes of this operation in the body of a transaction."""
        rough = _rough_bound(self.size, 1)
        return rough if rough < limits.MAX_TRANSACTION_BYTES // limits.MAX_TRANSACTION_OPERATIONS else self._exact

    @cached_property
    def _exact(self) -> int:
        texts = {name: value.iso() if isinstance(value, Ticks) else value for name, value in self.entity.items()}
        return len(json.dumps(texts, default=_spelled)) + _PART_BYTES


def _measure_checked(entity: Mapping[str, Any]) -> Measured:
    if WRITE_ID in entity:
        rule = "the name is reserved: every write uses it to recognize its own rows"
        raise BadProperty(WRITE_ID, entity[WRITE_ID], rule, "rename the property")
    return measure(entity)


def _spelled(value: Any) -> str:
    return "=" * (-(-len(value) // 3) * 4) if isinstance(value, bytes) else str(value)


def check_transaction(operations: Sequence[Operation]) -> None:
    """Check the rules of an entity group transaction: one partition, each entity once, 100 operations, 4 MB."""
    if len(operations) < 2:
        # A request of its own, and the largest entity takes less than 4 MB as JSON
        return
    if len(operations) > limits.MAX_TRANSACTION_OPERATIONS:
        rule = f"an entity group transaction has at most {limits.MAX_TRANSACTION_OPERATIONS}"
        hint = "split it if readers may see a part of it, or use BulkLoad"
        raise LimitExceeded("operations of a transaction", len(operations), rule, hint)
    row_keys: set[str] = set()
    size = 0
    partition_key = operations[0].partition_key
    for operation in operations:
        if operation.partition_key != partition_key:
            rule = f"a transaction has one partition, and its first operation is in {partition_key!r}"
            raise BadInput("PartitionKey", operation.partition_key, rule, "make one transaction per partition")
        if operation.row_key in row_keys:
            rule = "an entity may be written only once in a transaction"
            raise BadInput("RowKey", operation.row_key, rule, "combine the two writes into one")
        row_keys.add(operation.row_key)
        size += operation.size
    if _rough_bound(size, len(operations)) < limits.MAX_TRANSACTION_BYTES:
        return
    payload = sum(operation.payload_bound for operation in operations)
    if payload >= limits.MAX_TRANSACTION_BYTES:
        rule = f"the payload of a transaction is less than {limits.MAX_TRANSACTION_BYTES} bytes (4 MB)"
        hint = "split it, or keep large values in blobs"
        raise LimitExceeded("payload of a transaction in bytes", payload, rule, hint)


def _rough_bound(size: int, count: int) -> int:
    # JSON takes at most six bytes for a UTF-16 unit, which counts as two in the entity's size
    return 3 * size + count * _PART_BYTES


def sdk_operation(operation: Operation, write_ids: WriteIds) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the operation as `TableClient.submit_transaction` takes it, with the ids of the row's writes added."""
    word = sdk_word(operation)
    if word == "delete":
        keys = {"PartitionKey": operation.partition_key, "RowKey": operation.row_key}
        return word, keys, _condition(operation)
    entity = {name: _sdk_value(value) for name, value in operation.entity.items()}
    if write_ids:
        entity[WRITE_ID] = b"".join(write_ids)
    if word == "create":
        return word, entity, {}
    mode = UpdateMode.REPLACE if operation.kind.endswith("replace") else UpdateMode.MERGE
    return word, entity, {"mode": mode} if word == "upsert" else {"mode": mode, **_condition(operation)}


def _sdk_value(value: Any) -> Any:
    if isinstance(value, Int64):
        return EntityProperty(int(value), EdmType.INT64)
    return EntityProperty(value.iso(), EdmType.DATETIME) if isinstance(value, Ticks) else value


def sdk_word(operation: Operation) -> str:
    if operation.kind == "delete":
        return "delete"
    if operation.kind == "insert":
        return "create"
    return "upsert" if operation.etag is None else "update"


def _condition(operation: Operation) -> dict[str, Any]:
    if operation.etag == ANY:
        return {"match_condition": MatchConditions.Unconditionally}
    return {"etag": operation.etag, "match_condition": MatchConditions.IfNotModified}
