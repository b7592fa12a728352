"""Explain a filter, or review a design, that a reader pastes into a page."""

from __future__ import annotations

import json
from typing import Any

from tablepatterns import EntitySet, Key, connect
from tablepatterns.errors import BadInput
from tablepatterns.filters import QueryClass, parse
from tablepatterns.limits import MAX_PAGE_ENTITIES
from tablepatterns_review import QueryPlan, explain


def answer(question: str) -> str:
    """Call a function of this module, both as JSON: its name and arguments, and what it returns."""
    method, arguments = json.loads(question)
    try:
        return json.dumps({"explain": explained, "review": reviewed}[method](*arguments))
    except BadInput as error:
        return json.dumps({"error": str(error)})


def explained(query: str, partition: str, row: str, entities: int, partitions: int, size: int) -> dict[str, str]:
    """Return the plan of a query as text.

    :param query: the value of $filter
    :param partition: the template of the PartitionKey; "" to explain only the filter
    :param row: the template of the RowKey
    :param entities: how many entities the table has
    :param partitions: how many partitions it has
    :param size: the bytes of an entity
    """
    if partition:
        table = EntitySet(connect(), "Table", Key(partition, row))
        plan: QueryPlan = explain(table).scan(parse(query))
    else:
        plan = explain(query)
    return {"text": f"{plan}\n\n{_amount(plan.query_class, entities, partitions, size)}"}


def _amount(query_class: QueryClass, entities: int, partitions: int, size: int) -> str:
    """Return how much of a table of this size the service reads."""
    if query_class is QueryClass.POINT:
        return "In this table it reads 1 entity."
    read = entities if query_class is QueryClass.TABLE_SCAN else -(-entities // max(partitions, 1))
    extent = "up to" if query_class is QueryClass.RANGE else "all of"
    pages = -(-read // MAX_PAGE_ENTITIES)
    amount = f"{extent} {read:,} entities ({read * size / 1e6:,.1f} MB)"
    return f"In this table it reads {amount}. If all of them match, that takes {pages:,} transactions."


def reviewed(text: str) -> dict[str, Any]:
    """Return the report of a design file, as a page of HTML."""
    # Imported here, so that a filter can be explained without pydantic
    from tablepatterns_review import read_design, review
    from tablepatterns_review.report import html

    # Text without a line break would be read as a file name
    return {"html": html(review(read_design(f"{text}\n")))}
