"""Request: one request of a block of code, told without keys, signatures, tokens or values of properties."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..cost import Cost
from ..filters import QueryClass
from .site import Site

SEARCHED_ROWS: Final = 100
"""From how many rows on that are read and not returned a range query counts as a scan."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it was sent: each attempt of the SDK's retries is one of its own.

    :param site: the line of your code that it comes from; where no line of yours is on the stack, as in a task that
        the SDK or this package made, the line that the task works for, or that begins the block
    :param service: table, queue or blob
    :param operation: the service's name of the operation, as in the engine's ledger
    :param resource: the table, the queue or the container, None where it is about none
    :param partition: the PartitionKey, or the blob; None where it is about none or several
    :param query_class: the class of a query, None for anything else
    :param reason: why a query is of this class, "" for anything else
    :param rewrite: what would be better than the query, "" for anything else
    :param moment: when it was sent, by the account's clock
    :param seconds: until its answer came, by the account's clock; the back-off of retries lies between requests
    :param status: of the answer, in a transaction that of the operation that failed; 0 where no answer came
    :param transactions: storage transactions billed: 1, and 0 for what the service was too busy or too slow to do, or
        what was lost, of which nobody here can tell
    :param bytes_in: of the request's body
    :param bytes_out: of the answer's body
    :param attempt: 1, and one more for each time that the SDK sent it again
    :param examined: entities read to answer it, which only an account in memory tells; None where it is not known
    :param returned: entities in the answer, as `examined`
    """

    site: Site | None
    service: str
    operation: str
    resource: str | None
    partition: str | None
    query_class: QueryClass | None
    reason: str
    rewrite: str
    moment: datetime
    seconds: float
    status: int
    transactions: int
    bytes_in: int
    bytes_out: int
    attempt: int
    examined: int | None = None
    returned: int | None = None

    @property
    def cost(self) -> Cost:
        """What it costs: the storage transaction that is billed, by its service."""
        return Cost.of(self.service, self.operation, self.transactions)

    @property
    def is_scan(self) -> bool:
        """Whether the service searched a whole partition or the whole table, or a range in vain for the most part."""
        return self.query_class is not None and (self.query_class > QueryClass.RANGE or self.discards_most)

    @property
    def discards_most(self) -> bool:
        """Whether 100 and more rows were read and left out again, and these were more than those returned.

        Then a filter on properties searches, whatever bounds the keys have. On a real account it is not known.
        """
        if self.query_class is None or self.examined is None or self.returned is None:
            return False
        discarded = self.examined - self.returned
        return discarded >= SEARCHED_ROWS and discarded > self.returned

    @property
    def scan_class(self) -> QueryClass | None:
        """The class of a query by its filter and by what was read: a range that discards most is a partition scan."""
        return QueryClass.PARTITION_SCAN if self.query_class == QueryClass.RANGE and self.is_scan else self.query_class

    @property
    def is_retry(self) -> bool:
        """Whether the SDK sent it again."""
        return self.attempt > 1

    @property
    def is_throttled(self) -> bool:
        """Whether the service was too busy."""
        return self.status in (429, 503)

    @property
    def is_conflict(self) -> bool:
        """Whether it met what others had written: it exists already, or its ETag is another."""
        return self.status in (409, 412)

    @property
    def is_lost(self) -> bool:
        """Whether no answer came."""
        return self.status == 0

    @property
    def place(self) -> str:
        """The service, the resource and the partition in one text."""
        return "/".join(part for part in (self.service, self.resource, self.partition) if part is not None)
