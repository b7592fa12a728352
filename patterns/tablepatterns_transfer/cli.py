"""The commands `tablepatterns export`, `import` and `compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import RenderableType

from tablepatterns.cli.declared import load, run
from tablepatterns.cli.output import FAILED, DryRun, Result, command, new_app
from tablepatterns.cli.walks import Cluster, Concurrency, Processes, Rate, Target, run_or_report, shared
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import BadInput
from tablepatterns.figures import count, counted
from tablepatterns.filters import parse
from tablepatterns.recipe import bound_async
from tablepatterns.storage import connect

from .compare import Differences
from .foreign import rejects_of
from .manifest import MANIFEST
from .places import PREFIX
from .restore import IfExists
from .transfer import TableTransfer, compare_exports

_SHOWN = 10

Name = Annotated[str, typer.Argument(metavar="TABLE|MODULE:SET", help="The table, or a set such as app:employees.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the export.")]
Source = Annotated[
    Path, typer.Argument(metavar="DIR|FILE", help="The folder of an export; or a .csv or .parquet file, for a set.")
]


def transfer_of(name: str, storage: str | None) -> TableTransfer[Any]:
    """Return the table or the set that a command names, in each process that works on it.

    :param storage: the target, as for `connect`; by default, that of the set, or `env` for a table
    """
    if ":" not in name:
        return TableTransfer(connect(storage or "env"), name)
    entity_set = load(name, EntitySet, "set", storage)
    return TableTransfer(entity_set.account, entity_set)


def export(
    name: Name,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The folder, which must be empty, or container:NAME/PATH.")],
    storage: Target = None,
    format_: Annotated[Literal["jsonl", "parquet"], typer.Option("--format", help="JSON Lines or Parquet.")] = "jsonl",
    compression: Annotated[Literal["gzip", "zstd"], typer.Option(help="That of JSON Lines.")] = "gzip",
    where: Annotated[str | None, typer.Option(help='A filter, such as "Age gt 30".')] = None,
    select: Annotated[list[str] | None, typer.Option(help="A property; several times; by default, all.")] = None,
    decrypt: Annotated[bool, typer.Option("--decrypt", help="Decrypt the entities of a set.")] = False,
    with_blobs: Annotated[bool, typer.Option("--with-blobs", help="Copy the blobs of large properties, too.")] = False,
    since: Annotated[
        Path | None, typer.Option(help="An earlier export: only what changed or was deleted since.")
    ] = None,
    max_per_second: Annotated[float | None, typer.Option(help="The most rows a second.")] = None,
    workers: Processes = None,
    dask: Cluster = None,
) -> Result:
    """Write all rows of a table, or all entities of a set, to files and a manifest.

    If it is interrupted, run the same command again to continue it. Workers on other machines write to the folder, too.
    """
    by_workers = _workers(workers, dask, name, storage) or 1
    transfer: Any = bound_async(transfer_of(name, storage))
    options: dict[str, Any] = {"select": select, "decrypt": decrypt, "with_blobs": with_blobs, "since": since}
    options |= {"format": format_, "compression": compression}
    options |= {"where": None if where is None else parse(where), "workers": by_workers}
    work = partial(transfer.export, to, max_per_second=max_per_second, **options)
    manifest = _finished(transfer, "export", work, ("rows", "files"))
    data = {"rows": manifest.rows, "files": len(manifest.files), "newest": manifest.newest}
    line = f"{counted(manifest.rows, 'row')} in {counted(len(manifest.files), 'file')}: {to / MANIFEST}"
    return Result(data, (line,))


def restore(
    folder: Source,
    to: Annotated[str, typer.Option(metavar="TABLE|MODULE:SET", help="The table or the set to write to.")],
    storage: Target = None,
    if_exists: Annotated[IfExists, typer.Option(help="What to do with a row that exists with other values.")] = "fail",
    rejects: Annotated[
        Path | None, typer.Option(help="The file for rows of FILE that do not fit; by default, FILE.rejects.jsonl.")
    ] = None,
    max_per_second: Rate = None,
    max_concurrency: Concurrency = 8,
    workers: Processes = None,
    dask: Cluster = None,
    dry_run: DryRun = False,
) -> Result:
    """Check an export, write its rows to a table or a set, and compare them with what is stored then.

    If it is interrupted, run the same command again. A dry run checks the export, and compares it with what is stored.
    Of a file of another program, rows that do not fit the set are written to a file; the exit status is 1 if there are
    any.
    """
    pace = {"max_per_second": max_per_second, "max_concurrency": max_concurrency}
    if folder.is_file():
        if workers or dask:
            raise BadInput("--workers", str(folder), "a file is read in one process", "leave it out, or split the file")
        return _import_file(folder, to, storage, if_exists=if_exists, rejects=rejects, dry_run=dry_run, **pace)
    if dry_run:
        return compare(folder, to, storage)
    transfer: Any = bound_async(transfer_of(to, storage))
    by_workers = _workers(workers, dask, to, storage)
    work = partial(transfer.restore, folder, if_exists=if_exists, workers=by_workers, **pace)
    report = _finished(transfer, "import", work, ("rows", "written"))
    written = f"{count(report.written)} of them written now"
    line = f"{counted(report.rows, 'row')} of the export are in {transfer.table.name}, {written}"
    return Result({"rows": report.rows, "written": report.written}, (line,))


def _import_file(file: Path, to: str, storage: str | None, **options: Any) -> Result:
    transfer: Any = bound_async(transfer_of(to, storage))
    work = partial(transfer.import_file, file, **options)
    report = _finished(transfer, "import", work, ("rows", "written", "rejected"))
    fitting = "fit" if options["dry_run"] else f"are in {transfer.table.name}"
    place = options["rejects"] or rejects_of(file)
    where = f", see {place}" if report.rejected and not options["dry_run"] else ""
    line = (
        f"{count(report.written)} of {counted(report.rows, 'row')} {fitting}, {count(report.rejected)} rejected{where}"
    )
    return Result(asdict(report), (line,), FAILED if report.rejected else 0)


def compare(
    first: Folder,
    second: Annotated[str, typer.Argument(metavar="DIR|TABLE|MODULE:SET", help="Another export, a table or a set.")],
    storage: Target = None,
) -> Result:
    """Compare an export with another one, or with a table or a set, by key.

    The exit status is 1 if there are differences.
    """
    if second.startswith(PREFIX):
        with connect(storage or "env") as account:
            return _result(compare_exports(first, second, account=account))
    if Path(second).is_dir():
        return _result(compare_exports(first, second))
    transfer: Any = bound_async(transfer_of(second, storage))
    return _result(run(transfer.compare(first), transfer.account))


def _finished(transfer: Any, name: str, work: Callable[..., Any], figures: Sequence[str]) -> Any:
    """Finish an export or import; after a signal, say what was done by the figures of the last report."""
    done: dict[str, dict[str, int]] = {}

    def keep(report: Any) -> None:
        values: dict[str, Any] = {figure: getattr(report, figure) for figure in figures}
        done[name] = {figure: value if isinstance(value, int) else len(value) for figure, value in values.items()}

    return run_or_report(work(progress=keep), done, transfer.account)


def _workers(count_: int | None, dask: str | None, name: str, storage: str | None) -> Any:
    return shared(count_, dask, partial(transfer_of, name, storage), storage) if count_ or dask else None


def _result(differences: Differences) -> Result:
    lines: list[RenderableType] = [differences.summary]
    listed = {"added": differences.added, "removed": differences.removed, "changed": differences.changed}
    for kind, keys in listed.items():
        lines += [f"{kind}: {key}" for key in keys[:_SHOWN]]
        if differences.counts[kind] > _SHOWN:
            lines.append(f"and {count(differences.counts[kind] - _SHOWN)} more {kind}; --json lists 10,000")
    data = {"equal": differences.equal, "counts": differences.counts, **listed}
    return Result(data, lines, 0 if differences.are_none else FAILED)


app = new_app()
command(app)(export)
command(app, "import")(restore)
command(app)(compare)
