"""Work over all rows of some tables, page by page, resumable after each page."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from typing_extensions import Self

from ..argument_types import check_has_run
from ..entity import Entity
from ..errors import BadToken
from ..filters import Filter
from ..limits import MAX_PAGE_ENTITIES
from ..rate_limit import Pace
from ..sdk.table import Page

if TYPE_CHECKING:
    from ..entity_set.reconcile import DerivedRows

ReportT = TypeVar("ReportT", bound="WalkReport")

_VERSION: Final = 1


class WalkReport:
    """The base of reports on parts of some work, which are frozen dataclasses: they add up."""

    def __add__(self, following: Self) -> Self:
        """Return the report of both: counts are added, lists are joined, and a token is the later one."""
        report: Any = self
        sums: dict[str, Any] = {field.name: getattr(following, field.name) for field in fields(report)}
        for name, value in sums.items():
            if name != "token":
                sums[name] = getattr(self, name) + value
        total: Self = replace(report, **sums)
        return total


@dataclass(frozen=True)
class Mark:
    """The position of a walk: the number of the table, and a continuation token.

    >>> Mark.parse(Mark("backfill by_email", 1, "abc").text(), "backfill by_email")
    Mark(walk='backfill by_email', table=1, token='abc')
    """

    walk: str
    table: int = 0
    token: str | None = None

    def text(self) -> str:
        """Return the mark as URL-safe text."""
        parts = [_VERSION, _digest(self.walk), self.table, self.token]
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode("ascii")

    @classmethod
    def parse(cls, token: str | None, walk: str) -> Mark:
        """Return the mark in a token; without a token, the start of the walk."""
        if token is None:
            return cls(walk)
        try:
            version, digest, table, inner = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
            is_sound = version == _VERSION and digest == _digest(walk) and isinstance(table, int) and table >= 0
        except (TypeError, ValueError, RecursionError) as error:
            raise BadToken("resume", token, "it is not a token of this library", "start without one") from error
        if not is_sound:
            rule = "a token resumes only the work that returned it, on the same derived data of the same set"
            raise BadToken("resume", token, rule, "start without one")
        return cls(walk, table, inner)


def walk_name(work: str, rows: DerivedRows, *details: str) -> str:
    """Return the name of a walk over a set, which tells its tokens from those of other work and other sets."""
    return " ".join((work, rows.primaries.name.lower(), repr(rows.key), *details))


def _digest(walk: str) -> str:
    return blake2b(walk.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class PageReader(Protocol):
    """Reads the rows of a table in pages, in the order of their keys."""

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        """Read one page of rows."""
        ...


class TablePage(NamedTuple):
    """One page of a walk: the number of its table, and its rows."""

    table: int
    rows: Sequence[Entity]


async def read_pages(
    tables: Sequence[PageReader], start: Mark, size: int
) -> AsyncIterator[tuple[TablePage, Mark | None]]:
    """Yield each page of some tables, with the mark of the next page (None after the last).

    Cost: 1 transaction for each page.
    """
    number, token = start.table, start.token
    while number < len(tables):
        page = await tables[number].page(None, size=min(size, MAX_PAGE_ENTITIES), token=token)
        table, token = number, page.token
        number += token is None
        yield TablePage(table, page.items), Mark(start.walk, number, token) if number < len(tables) else None


@dataclass(frozen=True)
class Walk(Generic[ReportT]):
    """Work on each page of some tables: what to do with a page, and what to add its report to.

    A description without state: its pages may be processed in any order, and again after a crash.

    :param name: what the walk does and on which set; its tokens are valid only for a walk of the same name
    """

    name: str
    tables: Sequence[PageReader]
    process: Callable[[TablePage], Coroutine[Any, Any, ReportT]]
    nothing: ReportT

    async def run(
        self,
        pace: Pace,
        start: Mark | str | None,
        progress: Callable[[ReportT], None] | None,
        token_of: Callable[[Mark, ReportT], str | None] = lambda mark, _: mark.text(),
    ) -> ReportT:
        """Process the pages from `start` to the end, and return the sum of their reports.

        :param start: a mark, or a token; None to process all pages
        :param progress: called after each page with the sum so far, whose token resumes from there
        """
        report, mark = self.nothing, start if isinstance(start, Mark) else Mark.parse(start, self.name)
        async for page, following in read_pages(self.tables, mark, pace.page_size):
            report += await self.process(page)
            any_report: Any = report
            report = replace(any_report, token=following and token_of(following, report))
            if progress is not None:
                check_has_run("progress", progress(report))
        return report
