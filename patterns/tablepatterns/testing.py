"""Record the requests of a test on the in-memory engine, with the lines of code that sent them."""

from __future__ import annotations

from collections import Counter

from tablepatterns_engine.account import Engine
from tablepatterns_engine.ledger import Span

from .filters import QueryClass
from .traffic import Traffic
from .traffic.checks import budget_exceeded, scans_exceeded
from .traffic.hooks import Watch

__all__ = ["AccountTraffic"]


class _Account:
    """An in-memory account, with all its connections."""

    def __init__(self, engine: Engine) -> None:
        self.tables = None
        self._watch = Watch(engine, {}, engine.clock.now)


class AccountTraffic(Traffic, Span):
    """All requests of an in-memory account: the records of its ledger, and the reports of `Traffic`.

    `records` and `totals` are the ledger's, with every request. `requests`, and the reports, contain those of clients
    that `connect` created, with their lines of code. The assertions check all requests.

    >>> from tablepatterns import connect
    >>> engine = Engine()
    >>> storage = connect(engine)
    >>> with AccountTraffic(engine) as traffic, engine.ledger.span(traffic):
    ...     _ = storage.tables.create_table("Employees")
    >>> traffic.assert_transactions(at_most=1)
    >>> traffic.totals.billable, traffic.overall.transactions
    (1, 1)

    :param engine: the account
    """

    def __init__(self, engine: Engine) -> None:
        Traffic.__init__(self, _Account(engine), everywhere=True)
        Span.__init__(self)

    def __enter__(self) -> AccountTraffic:
        super().__enter__()
        # A line of the test framework would not help
        self._site = None
        return self

    def assert_no_scans(self, allow: QueryClass = QueryClass.RANGE) -> None:
        """Fail if a query of any client was of a worse class than allowed.

        :param allow: the worst class to allow
        :raises AssertionError: there was one; the text lists the known lines of code, the reasons, and better queries
        """
        requests = self.requests
        seen = Counter(each.query_class for each in requests)
        counts = self.totals.by_query_class
        self._fail(
            scans_exceeded(requests, allow, {each: max(0, counts[each.label] - seen[each]) for each in QueryClass})
        )

    def assert_transactions(self, *, at_most: int) -> None:
        """Fail if the requests of all clients cost more storage transactions than allowed.

        :param at_most: the maximum number of transactions
        :raises AssertionError: there were more; the text lists the known lines of code, and how to save some
        """
        unseen = self.totals.billable - self.overall.transactions
        self._fail(budget_exceeded(self.requests, at_most, max(0, unseen)))
