"""Measure the cost of a question through the SDK's hooks, on any account."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from tablepatterns.filters import QueryClass, classify, parse
from tablepatterns.storage import Storage

_POINT: Final = re.compile(r"\(PartitionKey='.*',\s*RowKey='.*'\)$")


@dataclass
class Cost:
    """The cost of some reads.

    :param query_class: the worst class of the queries
    :param examined: how many entities the service read; only the in-memory engine reports it
    :param returned: how many entities the responses contained
    """

    query_class: QueryClass = QueryClass.POINT
    requests: int = 0
    examined: int | None = None
    returned: int = 0
    seconds: float = 0.0


class Meter:
    """Count the reads of a storage account. Pass it to `connect` as `raw_response_hook`."""

    def __init__(self) -> None:
        self._cost = Cost()

    def __call__(self, response: Any) -> None:
        """Record a response; the SDK calls this."""
        answer = response.http_response
        found = query_class(response.http_request.url)
        self._cost.requests += 1
        self._cost.query_class = max(self._cost.query_class, found)
        if answer.status_code == 200:
            self._cost.returned += 1 if found is QueryClass.POINT else len(answer.json()["value"])

    @contextmanager
    def measuring(self, storage: Storage) -> Generator[Cost, None, None]:
        """Measure the reads of a block of code."""
        self._cost = cost = Cost()
        engine = storage.engine
        before = engine.ledger.totals.examined if engine else 0
        start = perf_counter()
        yield cost
        cost.seconds = perf_counter() - start
        cost.examined = engine.ledger.totals.examined - before if engine else None


def query_class(url: str) -> QueryClass:
    """Return the class of a read.

    >>> query_class("https://contoso.table.core.windows.net/Flights(PartitionKey='B6',RowKey='airline')").label
    'point query'
    >>> query_class("https://contoso.table.core.windows.net/Flights()?$filter=Miles%20gt%201000").label
    'table scan'
    """
    address = urlsplit(url)
    if _POINT.search(address.path):
        return QueryClass.POINT
    asked = parse_qs(address.query).get("$filter")
    return classify(parse(asked[0])).query_class if asked else QueryClass.TABLE_SCAN
