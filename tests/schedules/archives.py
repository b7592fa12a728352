"""Moves to an archive with steps in another order, or without conditions."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from recipes.test_archive_schedules import (
    OVER,
    DeletesFirst,
    OverwritesWhateverIsThere,
    explored,
    is_archived_as_it_was_last,
    moving,
)
from schedules.schedule import schedule
from support.archive_targets import InTable
from tablepatterns.recipes.archive import archive as recipe


def broken(move: type[Any], workers: tuple[str, ...] = ("ann", "bob"), **options: Any) -> object:
    """Explore the archive with another move."""
    with patch.object(recipe, "Move", move):
        return explored(InTable(), moving("archive", workers=workers), is_archived_as_it_was_last, **options)


@schedule("archive")
def deleted_first() -> object:
    """A worker deletes before it inserts, and crashes in between."""
    return broken(DeletesFirst, workers=("ann",), crashes=1)


@schedule("archive-late_worker")
def insert_or_replace() -> object:
    """The guide's own insert-or-replace, by a worker whose lease has expired."""
    return broken(OverwritesWhateverIsThere, stalls=[OVER])
