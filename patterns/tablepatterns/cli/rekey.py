"""Commands that move a live table to new keys: `tablepatterns rekey copy app:move`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import asdict
from operator import methodcaller
from typing import Annotated, Any, Final, TypeVar

import typer

from ..figures import count, counted
from ..recipe import bound_async
from ..recipes.rekey.dual_writer import Phase
from ..recipes.rekey.mirror import Difference, RekeyReport
from ..recipes.rekey.rekey import Rekey, RekeyStatus
from .declared import load, run
from .maintenance import first_lines
from .output import FAILED, DryRun, Result, Yes, command, confirm, new_app
from .walks import Concurrency, Rate, Target, Walks, walking

app = new_app(help="Move a live table to new keys: copy, verify, cut over, roll back, commit, clean up.")

Name = Annotated[str, typer.Argument(metavar="MODULE:REKEY", help="The Rekey, such as app:move.")]
T = TypeVar("T")
_NEXT: Final = {
    Phase.COPYING: "copy, then verify until there is no difference, then cut-over",
    Phase.CUTTING_OVER: "cut-over to continue, or roll-back",
    Phase.CUT_OVER: "roll-back, or commit once no program needs the old keys",
    Phase.ROLLING_BACK: "roll-back to continue, or cut-over",
    Phase.COMMITTED: "clean-up",
}


@command(app)
def status(name: Name, storage: Target = None) -> Result:
    """Show the phase, which table is the primary one, and what to do next.

    The exit status is 1 if there are poison messages.
    """
    return _after("status", _loaded(name, storage))


@command(app)
@walking("rekey copy")
def copy(name: Name, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Copy the entities of the old table that have no copy yet.

    The exit status is 1 if entities cannot be copied. It is safe to run again. A dry run compares both tables.
    """
    if dry_run:
        return _compared(name, walks)
    report = _walk("copy", name, walks)
    return _differences(report, f"{count(report.copies)} of {counted(report.entities, 'entity')} copied")


@command(app)
@walking("rekey verify")
def verify(name: Name, *, walks: Walks) -> Result:
    """Compare both tables, and report differences; no entity is written.

    The exit status is 1 if there are differences. The phase can be changed after a run without any.
    """
    return _compared(name, walks)


@command(app)
@walking("rekey repair")
def repair(name: Name, dry_run: DryRun = False, *, walks: Walks) -> Result:
    """Compare both tables, and make the copies equal to the entities of the primary table; a dry run only compares."""
    if dry_run:
        return _compared(name, walks)
    repaired = len(_walk("repair", name, walks).repairable)
    return Result({"repaired": repaired}, (f"{counted(repaired, 'copy')} repaired",))


@command(app)
def cut_over(name: Name, storage: Target = None, dry_run: DryRun = False) -> Result:
    """Make the new table the primary one; writers wait, usually for less than a second."""
    return _after("cut_over", _loaded(name, storage), dry_run=dry_run)


@command(app)
def roll_back(name: Name, storage: Target = None, dry_run: DryRun = False) -> Result:
    """Make the old table the primary one again, with all writes since the cut-over."""
    return _after("roll_back", _loaded(name, storage), dry_run=dry_run)


@command(app)
def commit(name: Name, storage: Target = None, dry_run: DryRun = False, yes: Yes = False) -> Result:
    """End the move: the old table is not written any more, and there is no way back."""
    move = _loaded(name, storage)
    confirm("Give up the way back to the old keys?", yes=yes or dry_run)
    return _after("commit", move, dry_run=dry_run)


@command(app)
def clean_up(
    name: Name,
    storage: Target = None,
    drop_table: Annotated[bool, typer.Option("--drop-table", help="Drop the whole old table.")] = False,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    dry_run: DryRun = False,
) -> Result:
    """Delete the entities of the old table, once the move is committed."""
    move = _loaded(name, storage)
    if dry_run:
        return _after("status", move)
    options = {"drop_table": drop_table, "max_per_second": max_per_second, "max_concurrency": max_concurrency}
    deleted = _run(move, methodcaller("clean_up", **options))
    line = "the old table was dropped" if drop_table else f"{counted(deleted, 'old entity')} deleted"
    return Result({"deleted": deleted, "dropped": drop_table}, (line,))


def _loaded(name: str, storage: str | None) -> Rekey[Any, Any]:
    move: Rekey[Any, Any] = load(name, Rekey, "rekey", storage)
    return move


def _run(move: Rekey[Any, Any], call: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
    return run(call(bound_async(move)), move.account, move.old_set.account)


def _after(call: str, move: Rekey[Any, Any], *, dry_run: bool = False) -> Result:
    """Return the state after a call, whose last line says what to do next; a dry run changes nothing."""
    is_status = dry_run or call == "status"
    state: RekeyStatus = _run(move, methodcaller("status" if is_status else call))
    others = "none" if state.copy is None else state.copy
    is_ready = state.is_verified and state.phase is Phase.COPYING
    following = "cut-over" if is_ready else _NEXT[state.phase]
    until = None if state.fenced_until is None else state.fenced_until.isoformat()
    data = {**asdict(state), "phase": state.phase.value, "fenced_until": until, "next": following}
    lines = [
        f"phase: {state.phase.value}",
        f"primary table: {state.primary}; copies: {others}",
        f"verified: {'yes' if state.is_verified else 'no'}",
        f"writes in progress: {count(state.waiting)}; poison: {count(state.poison)}",
        f"next: {following}",
    ]
    return Result(data, lines, FAILED if is_status and state.poison else 0)


def _walk(work: str, name: str, walks: Walks) -> RekeyReport:
    """Return the last report of `copy`, `verify` or `repair`, which show their progress and can be resumed."""
    move: Rekey[Any, Any] = walks.load(name, Rekey, "rekey")
    over = walks.over(work, getattr(bound_async(move), work), {"entities": "entities", "copies": "copies"})
    report: RekeyReport = walks.run(over, move.account, move.old_set.account)
    return report


def _compared(name: str, walks: Walks) -> Result:
    report = _walk("verify", name, walks)
    return _differences(report, f"{counted(report.entities, 'entity')} and {counted(report.copies, 'copy')} compared")


def _differences(report: RekeyReport, line: str) -> Result:
    differences = [{**asdict(difference), "mismatch": difference.mismatch.value} for difference in report.differences]
    result = {"entities": report.entities, "copies": report.copies, "differences": differences}
    return Result(result, (line, *first_lines(map(_line, report.differences))), 0 if report.is_clean else 1)


def _line(difference: Difference) -> str:
    other = f" and {difference.other}" if difference.other else ""
    copied = f" -> {difference.copy}" if difference.copy else ""
    reason = f": {difference.reason}" if difference.reason else ""
    return f"{difference.mismatch.value}: {difference.entity or 'no entity'}{other}{copied}{reason}"
