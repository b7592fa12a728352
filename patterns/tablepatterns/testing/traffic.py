"""Record the requests of a test on the in-memory account, with the lines of code that made them."""

from __future__ import annotations

from collections import Counter

from ..engine.account import Engine
from ..engine.ledger import Span
from ..filters import QueryClass
from ..traffic import Traffic
from ..traffic.checks import budget_exceeded, scans_exceeded
from ..traffic.hooks import Watch


class _Account:
    """An account in memory, by whatever connection it is asked."""

    def __init__(self, engine: Engine) -> None:
        self.tables = None
        self._watch = Watch(engine, {}, engine.clock.now)


class AccountTraffic(Traffic, Span):
    """All requests of an account in memory: the records of its ledger, and what `Traffic` tells of them.

    `records` and `totals` are the ledger's, and have every request. `requests`, and all that is made of them, have
    those of clients that `connect` made, with their lines. The assertions hold for all of them.

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
        # A test framework's own line would say nothing
        self._site = None
        return self

    def assert_no_scans(self, allow: QueryClass = QueryClass.RANGE) -> None:
        """Fail where a query was of a worse class than allowed, whichever client made it.

        :param allow: the worst class that is let through
        :raises AssertionError: with each line that is known, why it scans, and what would be better
        """
        requests = self.requests
        seen = Counter(each.query_class for each in requests)
        told = self.totals.by_query_class
        self._fail(
            scans_exceeded(requests, allow, {each: max(0, told[each.label] - seen[each]) for each in QueryClass})
        )

    def assert_transactions(self, *, at_most: int) -> None:
        """Fail where more storage transactions are billed than allowed, whichever client made them.

        :param at_most: how many there may be
        :raises AssertionError: with each line that is known, what it asked, and what would cost less
        """
        unseen = self.totals.billable - self.overall.transactions
        self._fail(budget_exceeded(self.requests, at_most, max(0, unseen)))
