"""Tell what an access pattern would read if it read only what it returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tablepatterns.filters import QueryClass

from ..capacity.load import via_of
from ..plans.estimate import pages
from ..result import Measured
from .context import wanted, waste_severity
from .rule import RULES


def is_read_one_by_one(call: Measured) -> bool:
    """Whether a query reads a list and then so many entities, one by one, that it should read copies instead."""
    via = via_of(call.of, call)
    is_list = via is not None and call.of.profile(via).finder == "find_all"
    return is_list and call.returned * call.access.busiest >= RULES["second-read"].figures["lists"]


def without_waste(call: Measured) -> Iterator[Measured]:
    """Yield a call as if it read only what it returns; nothing for a table scan, which needs other keys for that."""
    if waste_severity(call) is None:
        # Entities of a list that are read one by one have a finding of their own
        listed = pages(call.returned, call.returned) if is_read_one_by_one(call) else call.requests
        yield call if listed == call.requests else replace(call, requests=listed, transactions=listed)
    elif call.query_class is not QueryClass.TABLE_SCAN:
        needed = wanted(call)
        requests = min(call.requests, pages(needed, needed))
        yield replace(call, examined=needed, returned=needed, requests=requests, transactions=requests)
