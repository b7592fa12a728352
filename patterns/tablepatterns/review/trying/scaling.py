"""Scaling: what a call took on a sample, told of all entities that are declared."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import Final

from ...filters import QueryClass
from ..declaring.declared import Query
from .answering import Answer
from .expecting import Expected
from .taking import Taken

_BY_LABEL: Final = {each.label: each for each in QueryClass}


def scaled(
    found: Answer, took: Taken, likely: Expected, expected: Expected, empty: float, *, is_told: bool = False
) -> Taken:
    """Return what a call would take with all declared entities.

    :param found: how it is answered
    :param took: what it took with those of the sample
    :param likely: what was to be expected of the sample
    :param expected: what is to be expected of all
    :param empty: the bytes of an answer without entities
    :param is_told: whether the number of results is declared
    """
    if likely == expected or not took.requests:
        return took
    returned = took.returned * _ratio(expected.returned, likely.returned)
    examined = took.examined * _ratio(expected.examined, likely.examined)
    if is_told and took.returned:
        # A sample holds a whole number of what is declared to be so many
        examined = expected.returned if isclose(examined, returned) else examined
        returned = expected.returned
    more = expected.requests - likely.requests
    if found.way == "find_all":
        # A point query for each entity
        more = took.requests * (_ratio(expected.examined, likely.examined) - 1)
    each = max(0.0, took.bytes_out - took.requests * empty) / took.returned if took.returned else 0.0
    requests = max(1.0, took.requests + more)
    return replace(
        took,
        requests=requests,
        transactions=max(1.0, took.transactions + more),
        examined=max(returned, examined),
        returned=returned,
        bytes_in=took.bytes_in * requests / took.requests,
        bytes_out=requests * empty + each * returned,
        partitions=took.partitions * _ratio(expected.partitions, likely.partitions),
        blob_reads=took.blob_reads * (returned / took.returned if took.returned else 1.0),
    )


def _ratio(all_of_it: float, part: float) -> float:
    return all_of_it / part if part else 1.0


def class_of(query: Query, found: Answer, took: Taken) -> QueryClass:
    """Return the worst class of the queries, by what they search."""
    # A list in a blob is read by its name, and where it is empty, nothing else is
    worst = max((_BY_LABEL[label] for label in took.classes), default=QueryClass.POINT)
    if worst is QueryClass.RANGE and found.is_scan(query):
        return QueryClass.PARTITION_SCAN
    if worst is QueryClass.PARTITION_SCAN and found.takes(query) is not None and not found.where:
        # The first rows of a partition are a range of it: no more are read than are wanted
        return QueryClass.RANGE
    return worst
