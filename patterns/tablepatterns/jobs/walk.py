"""Work over all rows of some tables, page by page, resumable after each page."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from typing_extensions import Self

from ..argument_types import check_has_run
from ..entity import Entity
from ..entity_set.derived import keys_of
from ..errors import BadInput, BadToken
from ..limits import MAX_PAGE_ENTITIES
from ..rate_limit import Pool
from ..recipe import check_key_order
from .ranges import PageReader, RowRange
from .workers import Call, OneRange, Run, Workers, can_filter

if TYPE_CHECKING:
    from ..entity_set.reconcile import DerivedRows

ReportT = TypeVar("ReportT", bound="WalkReport")

_VERSION: Final = 1


class WalkReport:
    """The base of reports on parts of some work, which are frozen dataclasses: they add up."""

    def __add__(self, following: Self) -> Self:
        """Return the report of both: counts are added, lists are joined, and a token is the later one."""
        last: Any = following
        names = [field.name for field in fields(last) if field.name != "token"]
        total: Self = replace(last, **{name: getattr(self, name) + getattr(last, name) for name in names})
        return total


@dataclass(frozen=True)
class Mark:
    """The position of a walk: the number of the table, and a continuation token; or the ranges that are not done.

    >>> Mark.parse(Mark("backfill by_email", 1, "abc").text(), "backfill by_email")
    Mark(walk='backfill by_email', table=1, token='abc', ranges=None)
    """

    walk: str
    table: int = 0
    token: str | None = None
    ranges: tuple[RowRange, ...] | None = None
    """What is left of work that several workers do; None for other work."""

    def text(self) -> str:
        """Return the mark as URL-safe text."""
        parts: list[object] = [_VERSION, _digest(self.walk), self.table, self.token]
        if self.ranges is not None:
            parts.append(self.ranges)
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode("ascii")

    @classmethod
    def parse(cls, token: str | None, walk: str) -> Mark:
        """Return the mark in a token; without a token, the start of the walk."""
        if token is None:
            return cls(walk)
        try:
            version, digest, table, inner, *more = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
            ranges = tuple(RowRange(*parts) for parts in more[0]) if more else None
            is_sound = version == _VERSION and digest == _digest(walk) and isinstance(table, int) and table >= 0
        except (TypeError, ValueError, RecursionError) as error:
            raise BadToken("resume", token, "it is not a token of this library", "start without one") from error
        if not is_sound:
            rule = "a token resumes only the work that returned it, on the same derived data of the same set"
            raise BadToken("resume", token, rule, "start without one")
        return cls(walk, table, inner, ranges)


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: a crash must not lose what it had before."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def walk_name(work: str, rows: DerivedRows, *details: str) -> str:
    """Return the name of a walk over a set, which tells its tokens from those of other work and other sets."""
    return " ".join((work, rows.primaries.name.lower(), repr(rows.key), *details))


def _digest(walk: str) -> str:
    return blake2b(walk.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class TablePage(NamedTuple):
    """One page of a walk: the number of its table, and its rows."""

    table: int
    rows: Sequence[Entity]


async def read_pages(
    tables: Sequence[PageReader], start: Mark, size: int
) -> AsyncIterator[tuple[TablePage, Mark | None]]:
    """Yield each page of tables, with the mark of the next page (None after the last). Cost: 1 transaction each."""
    number, token = start.table, start.token
    while number < len(tables):
        page = await tables[number].page(None, size=min(size, MAX_PAGE_ENTITIES), token=token)
        table, token = number, page.token
        number += token is None
        yield TablePage(table, page.items), Mark(start.walk, number, token) if number < len(tables) else None


class RangeWalk(ABC, Generic[ReportT]):
    """Work on ranges of the pages of some tables.

    A description without state: its pages may be processed in any order, and again after a crash.

    :param name: what the walk does and on which set; its tokens are valid only for a walk of the same name
    """

    name: str
    tables: Sequence[PageReader]
    nothing: ReportT

    @abstractmethod
    async def process_pages(self, pages: AsyncIterator[TablePage]) -> ReportT:
        """Process pages of one range, and return a report of all of them."""

    async def run(
        self,
        pool: Pool,
        start: Mark | str | None,
        progress: Callable[[ReportT], None] | None,
        workers: int | Workers | None = None,
        call: Call | None = None,
        *,
        token_of: Callable[[Mark, ReportT], str | None] = lambda mark, _: mark.text(),
    ) -> ReportT:
        """Process the pages from `start` to the end, and return the sum of their reports.

        :param start: a mark, or a token; None to process all pages
        :param progress: called after each page with the sum so far, whose token resumes from there; with workers, after
            each range
        :param call: does the same work in another process; None if only this process can
        """
        mark = start if isinstance(start, Mark) else Mark.parse(start, self.name)
        if isinstance(workers, OneRange):
            return await workers.process(self, pool.pace.page_size)
        if workers is not None or mark.ranges is not None:
            return await self._share(pool, mark, progress, Workers.of(workers) or Workers(1), call, token_of)
        report = self.nothing
        async for page, following in read_pages(self.tables, mark, pool.pace.page_size):
            report += await self.process_pages(_only(page))
            report = _with_token(report, token_of(following, report) if following else None, progress)
        return report

    async def _share(
        self,
        pool: Pool,
        mark: Mark,
        progress: Callable[[ReportT], None] | None,
        workers: Workers,
        call: Call | None,
        token_of: Callable[[Mark, ReportT], str | None],
    ) -> ReportT:
        check_key_order(pool.account, "workers read ranges")
        if mark.token is not None or mark.table:
            rule = "it is of work without workers, whose position is not a range of keys"
            raise BadToken("resume", mark.text(), rule, "leave out the workers, or the token")
        if workers.source is not None and call is None:
            raise BadInput("workers", workers.source, "this work is done in one process", "leave out the source")
        report, reports = self.nothing, list[tuple[RowRange, ReportT]]()

        def token_for(left: Sequence[RowRange]) -> str | None:
            return token_of(replace(mark, ranges=tuple(left)), report) if left else None

        def add(rows: RowRange, of_range: ReportT, left: list[RowRange]) -> None:
            nonlocal report
            reports.append((rows, of_range))
            report += of_range
            report = _with_token(report, token_for(left), progress)

        every_table = (RowRange(number) for number in range(len(self.tables)))
        run = Run(workers, self, pool, call, add, deque(every_table if mark.ranges is None else mark.ranges))
        await run.finish(token_for)
        # In the order of the keys, whatever the order in which ranges were done
        return sum((of_range for _, of_range in sorted(reports, key=lambda pair: pair[0].start)), self.nothing)

    async def process_range(
        self, rows: RowRange, page_size: int, has_time: Callable[[], bool]
    ) -> tuple[ReportT, list[RowRange]]:
        """Process the pages of a range until time is up; return the report, and the ranges that are left."""
        left: list[RowRange] = []
        pages = self._pages(rows, min(page_size, MAX_PAGE_ENTITIES), has_time, left)
        return await self.process_pages(pages), left

    async def _pages(
        self, rows: RowRange, size: int, has_time: Callable[[], bool], left: list[RowRange]
    ) -> AsyncIterator[TablePage]:
        """Yield the pages of a range until time is up, and add what is left then."""
        table, token = self.tables[rows.table], None
        while True:
            page = await table.page(rows.where, size=size, token=token)
            yield TablePage(rows.table, page.items)
            token = page.token
            if token is None:
                return
            if page.items and can_filter(table) and not has_time():
                left += rows.rest(*keys_of(page.items[-1]))
                return


@dataclass(frozen=True)
class Walk(RangeWalk[ReportT]):
    """Work on each page of some tables: what to do with a page, and what to add its report to."""

    name: str
    tables: Sequence[PageReader]
    process: Callable[[TablePage], Coroutine[Any, Any, ReportT]]
    nothing: ReportT

    async def process_pages(self, pages: AsyncIterator[TablePage]) -> ReportT:
        report = self.nothing
        async for page in pages:
            report += await self.process(page)
        return report


async def _only(page: TablePage) -> AsyncIterator[TablePage]:
    yield page


def _with_token(report: ReportT, token: str | None, progress: Callable[[ReportT], None] | None) -> ReportT:
    """Return a report with the token that resumes the work from there, after the caller has seen it."""
    any_report: Any = report
    marked: ReportT = replace(any_report, token=token)
    if progress is not None:
        check_has_run("progress", progress(marked))
    return marked
