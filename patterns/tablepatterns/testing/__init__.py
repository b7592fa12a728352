"""What tests of your own code use beside the fixtures; see "Testing your own code" in the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Final

from tablepatterns_engine.account import Engine
from tablepatterns_engine.ledger import Record, Span

from ..filters import QueryClass
from ..traffic import Request, Traffic
from ..traffic.hooks import Watch
from ..traffic.request import discards_most
from ..traffic.tally import tallied

__all__ = ["AccountTraffic"]


class AccountTraffic(Traffic, Span):
    """All requests of an in-memory account: the records of its ledger, and the reports of `Traffic`.

    `records` and `totals` are the ledger's, with every request. `requests`, and the reports, contain those of clients
    that `connect` created, with their lines of code. The assertions check all requests.

    >>> from tablepatterns import connect
    >>> engine = Engine()
    >>> storage = connect(engine)
    >>> with AccountTraffic(engine) as traffic:
    ...     _ = storage.tables.create_table("Employees")
    >>> traffic.assert_transactions(at_most=1)
    >>> traffic.totals.billable, traffic.overall.transactions
    (1, 1)
    """

    def __init__(self, engine: Engine) -> None:
        connections: Any = SimpleNamespace(tables=None, _watch=Watch(engine, {}, engine.clock.now))
        Traffic.__init__(self, connections, everywhere=True)
        Span.__init__(self)
        self._engine = engine
        self._span = ExitStack()

    def __enter__(self) -> AccountTraffic:
        super().__enter__()
        self._span.enter_context(self._engine.ledger.span(self))
        # A line of the test framework would not help
        self._recorder.site = None
        return self

    def __exit__(self, *error: object) -> None:
        self._span.close()
        super().__exit__(*error)

    def _unseen_queries(self, requests: list[Request]) -> Mapping[QueryClass, int]:
        unseen = Counter(_scan_class(record) for record in self.records if record.query_class is not None)
        unseen.subtract(request.scan_class for request in requests if request.scan_class is not None)
        return unseen

    def _unseen_transactions(self, requests: list[Request]) -> int:
        return max(0, self.totals.billable - tallied(requests).transactions)


_CLASSES: Final = {query_class.label: query_class for query_class in QueryClass}


def _scan_class(record: Record) -> QueryClass:
    query_class = _CLASSES[record.query_class or ""]
    is_scan = query_class == QueryClass.RANGE and discards_most(record.examined, record.returned)
    return QueryClass.PARTITION_SCAN if is_scan else query_class
