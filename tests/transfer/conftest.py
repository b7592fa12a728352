"""What the tests of exports share: an account with people."""

from __future__ import annotations

from typing import Any

import pytest

from support.worker_sets import store_staff
from tablepatterns import connect

ROWS = 2_400


@pytest.fixture(scope="module")
def storage() -> Any:
    """An account with 2,400 people in 40 partitions, which no test changes."""
    storage = connect()
    store_staff(storage, ROWS)
    return storage
