"""A set with one index, of each kind that maintenance works on."""

from __future__ import annotations

from typing import Any

import pytest

from support.maintained_set import BY_ID, KINDS
from tablepatterns import EntitySet, InterPartitionIndex, Key


@pytest.fixture(params=[*KINDS, "other table"])
def index(request: pytest.FixtureRequest, new_name: Any) -> Any:
    """An index in the partition, in another one, and in another table: maintenance guarantees the same."""
    return KINDS.get(request.param) or InterPartitionIndex(Key("by_{Department}", "{Email}"), table=new_name())


@pytest.fixture
def plain(storage: Any, table_name: str) -> Any:
    """The entities, written by a program that knows of no index."""
    return EntitySet(storage, table_name, BY_ID)


@pytest.fixture
def staff(storage: Any, table_name: str, index: Any) -> Any:
    return EntitySet(storage, table_name, BY_ID, derived=[index])
