"""Table names: which tables an account has, in the words that a recipe may await."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ..filters import prop
from .exchange import each


async def table_names(service: Any, first: str, last: str) -> AsyncIterator[str]:
    """Hand out the names of an account's tables from `first` to `last`, both included, as they were spelled.

    Cost: 1 transaction per page of up to 1,000 names.

    :param service: the SDK's client of the table service, sync or async
    """
    name = prop("TableName")
    async for table in each(service.query_tables(str((name >= first) & (name <= last)))):
        yield str(table.name)
