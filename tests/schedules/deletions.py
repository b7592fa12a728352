"""Deletes by age or by a filter, without checking again."""

from __future__ import annotations

from functools import partial

from recipes import test_bulk_delete as deleting
from recipes import test_period_tables_schedules as periods
from schedules.schedule import schedule
from tablepatterns_explore import explore


@schedule("period_tables")
def a_writer_that_does_not_look_at_the_clock() -> object:
    """A write to an expired day, whose table was dropped, creates the table again."""
    make = partial(periods.straggler_and_two_droppers, kind=periods.Unchecked)
    return explore(make, always=periods.none_that_was_dropped_is_there, **periods.LATE)


@schedule("bulk_delete")
def whatever_has_become_of_it() -> object:
    """An entity is deleted without the ETag that it had when it was found."""
    make = partial(deleting.a_deleter_and_a_renewal, kind=deleting.Unconditional)
    return explore(make, invariant=deleting.what_was_renewed_is_there, expected=deleting.EntityNotFound)
