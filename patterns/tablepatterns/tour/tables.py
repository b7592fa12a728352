"""Create the tour's tables, and delete them when it ends, even after an error."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import Any

from ..storage import Storage


@contextmanager
def tables(storage: Storage, names: Iterable[str], *, keep: bool = False) -> Generator[None, None, None]:
    """Create new tables, and delete them after the block, even if it fails.

    An account that cannot be reached, or a name that is taken, is found out before anything is loaded.

    :param keep: keep the tables
    """
    service: Any = storage.tables
    with ExitStack() as made:
        for name in names:
            service.create_table(name)
            if not keep:
                made.callback(service.delete_table, name)
        yield
