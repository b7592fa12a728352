"""Work over a whole table: `verify(employees, by_email)`, `repair`, `backfill`, `recount` and `migrate`.

Each takes a set first, and is sync or async as its account is. Those that read a table work page by page: they report
their progress, limit their rate, and resume after each page, also in another process. With `workers` they work on
several ranges of keys at a time.
"""

from .counting import Counts, count
from .derived_data import Drift, Report, backfill, recount, repair, verify
from .migration import Migration, migrate
from .workers import Workers

__all__ = [
    "Counts",
    "Drift",
    "Migration",
    "Report",
    "Workers",
    "backfill",
    "count",
    "migrate",
    "recount",
    "repair",
    "verify",
]
