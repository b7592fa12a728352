"""The ledger: every request to the engine, what it read, and what it would be billed."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput


class Record(NamedTuple):
    """One request.

    :param service: table, queue or blob
    :param operation: the service's name of the operation, such as InsertEntity, QueryEntities or Transaction
    :param partition: the partition; None if there are several or none
    :param query_class: the label of the query's class; None if it is not a query
    :param examined: entities read to answer it
    :param returned: entities in the response
    :param error: the service's error code; None on success
    :param status: the status of the response; 0 if the network lost the request
    :param billable: storage transactions billed: one per request, including an entity group transaction, and none for
        one that the service was too busy or too slow to execute
    :param written: entities written or deleted
    :param fault: the fault or scalability target that affected it, or None
    """

    service: str
    operation: str
    table: str | None
    partition: str | None
    query_class: str | None
    examined: int
    returned: int
    bytes_in: int
    bytes_out: int
    status: int
    error: str | None
    billable: int
    moment: Ticks
    written: int = 0
    fault: str | None = None


@dataclass(slots=True)
class Totals:
    """Running sums over records, including dropped ones."""

    requests: int = 0
    billable: int = 0
    examined: int = 0
    returned: int = 0
    written: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    errors: int = 0
    by_operation: Counter[str] = field(default_factory=Counter[str])
    by_query_class: Counter[str] = field(default_factory=Counter[str])

    def add(self, record: Record) -> None:
        self.requests += 1
        self.billable += record.billable
        self.examined += record.examined
        self.returned += record.returned
        self.written += record.written
        self.bytes_in += record.bytes_in
        self.bytes_out += record.bytes_out
        self.errors += record.error is not None
        self.by_operation[record.operation] += 1
        if record.query_class is not None:
            self.by_query_class[record.query_class] += 1


class Span:
    """The records of a block of code, including those of other threads in that time."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    @property
    def totals(self) -> Totals:
        """The sums over these records."""
        totals = Totals()
        for record in self.records:
            totals.add(record)
        return totals


_MAX_UNCOUNTED: Final = 1024


class Ledger:
    """The account's requests, newest last. It stores the last ones and counts all.

    :param keep: the number of stored records
    """

    def __init__(self, keep: int = 100_000) -> None:
        self._lock = threading.Lock()
        self._spans: list[Span] = []
        self._totals = Totals()
        # Adding up costs more than storing the record, and most accounts are never asked for totals
        self._uncounted: list[Record] = []
        self.records: deque[Record] = deque(maxlen=keep)

    @property
    def totals(self) -> Totals:
        """The sums over all requests so far, as a copy."""
        with self._lock:
            self._count()
            return deepcopy(self._totals)

    def add(self, record: Record) -> None:
        with self._lock:
            self.records.append(record)
            self._uncounted.append(record)
            if len(self._uncounted) == _MAX_UNCOUNTED:
                self._count()
            for span in self._spans:
                span.records.append(record)

    def _count(self) -> None:
        """Add the records that are not in the totals yet."""
        for record in self._uncounted:
            self._totals.add(record)
        self._uncounted.clear()

    def clear(self) -> None:
        """Delete all records and reset the totals; open spans keep their records."""
        with self._lock:
            self.records.clear()
            self._uncounted.clear()
            self._totals = Totals()

    @contextmanager
    def span(self, span: Span | None = None) -> Generator[Span, None, None]:
        """Collect the records of a block of code.

        >>> with Ledger().span() as span:
        ...     pass
        >>> span.totals.requests
        0

        :param span: the span that collects them; by default a new one
        """
        span = Span() if span is None else span
        with self._lock:
            if all(other is not span for other in self._spans):
                self._spans.append(span)
        try:
            yield span
        finally:
            with self._lock:
                self._spans = [other for other in self._spans if other is not span]


TableOperation: TypeAlias = Literal[
    "CreateTable", "DeleteEntity", "DeleteTable", "GetTableACL", "GetTableServiceProperties", "GetTableServiceStats",
    "InsertEntity", "InsertOrMergeEntity", "InsertOrReplaceEntity", "MergeEntity", "QueryEntities", "QueryEntity",
    "QueryTable", "QueryTables", "SetTableACL", "SetTableServiceProperties", "Transaction", "UpdateEntity",
]  # fmt: skip
QueueOperation: TypeAlias = Literal[
    "ClearMessages", "CreateQueue", "DeleteMessage", "DeleteQueue", "GetMessages", "GetQueueACL", "GetQueueMetadata",
    "GetQueueServiceProperties", "GetQueueServiceStats", "ListQueues", "PeekMessages", "PutMessage", "SetQueueACL",
    "SetQueueMetadata", "SetQueueServiceProperties", "UpdateMessage",
]  # fmt: skip
BlobOperation: TypeAlias = Literal[
    "AbortCopyBlob", "AcquireBlobLease", "AcquireContainerLease", "AppendBlobSeal", "AppendBlock", "AppendBlockFromURL",
    "BlobBatch", "BreakBlobLease", "BreakContainerLease", "ChangeBlobLease", "ChangeContainerLease", "CopyBlob",
    "CopyBlobFromURL", "CreateContainer", "DeleteBlob", "DeleteContainer", "GetAccountInformation", "GetBlob",
    "GetBlobMetadata", "GetBlobProperties", "GetBlobServiceProperties", "GetBlobServiceStats", "GetBlobTags",
    "GetBlockList", "GetContainerACL", "GetContainerMetadata", "GetContainerProperties", "ListBlobs", "ListContainers",
    "PutBlob", "PutBlobFromURL", "PutBlock", "PutBlockFromURL", "PutBlockList", "ReleaseBlobLease",
    "ReleaseContainerLease", "RenewBlobLease", "RenewContainerLease", "SetBlobMetadata", "SetBlobProperties",
    "SetBlobServiceProperties", "SetBlobTags", "SetBlobTier", "SetContainerACL", "SetContainerMetadata", "SnapshotBlob",
]  # fmt: skip
Operation: TypeAlias = TableOperation | QueueOperation | BlobOperation

_KNOWN: Final = frozenset(get_args(TableOperation) + get_args(QueueOperation) + get_args(BlobOperation))


def check_operation(name: str) -> None:
    """Reject an unknown operation, to which a rule would never apply."""
    if name not in _KNOWN:
        rule = "no operation of a service has this name"
        raise BadInput("operation", name, rule, f"give one of {', '.join(sorted(_KNOWN))}")
