"""Run a reader's program in the browser, and report what each step prints, sends and stores."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

import tablepatterns
from tablepatterns import Traffic, aio, connect
from tablepatterns.cost import Cost
from tablepatterns.recipe import declared_rows
from tablepatterns.storage import Storage
from tablepatterns.traffic.request import Request

FILE = "program.py"
_MARK = re.compile(r"^( *)# -- (.+?)(?: \((.+)\))?$", re.MULTILINE)
_OWN = ("WriteId", "IntentId")
_MAX_ROWS, _MAX_REQUESTS, _MAX_TEXT = 100, 100, 120
_UNBUFFERED_WRITES, _SECONDS = 1000, 0.05

# ------------------------------------------------------------------ reports

Report = Callable[[str, dict[str, Any]], None]


class Output:
    """A stream that reports its text immediately, and in larger pieces once there is a lot of it."""

    encoding = "utf-8"

    def __init__(self, report: Report, kind: str) -> None:
        self._report, self._kind = report, kind
        self._text, self._writes, self._last = "", 0, 0.0

    def write(self, text: str) -> int:
        """Report the text, now or soon."""
        self._text += text
        self._writes += 1
        if self._writes < _UNBUFFERED_WRITES or time.monotonic() - self._last > _SECONDS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Report what has not been reported yet."""
        if self._text:
            self._report(self._kind, {"text": self._text})
        self._text, self._last = "", time.monotonic()


def request_of(each: Request) -> dict[str, Any]:
    """Return a recorded request as the page shows it."""
    at = each.site.line if each.site is not None and each.site.file == FILE else ""
    place = " ".join(filter(None, (each.resource, each.partition)))
    kind = "" if each.query_class is None else each.query_class.name.lower().replace("_", " ")
    shown = {"line": at, "operation": each.operation, "on": place, "class": kind, "cost": str(each.cost)}
    return shown | {"scan": each.is_scan}


def stored_in(storage: Storage) -> Iterator[dict[str, Any]]:
    """Yield what each table, queue and container of the account stores, without requests that the program would see."""
    engine, kinds = storage.engine, declared_rows(storage)
    assert engine is not None  # noqa: S101 - the program's account is in memory
    for table in engine.tables.names()[0]:
        entities = engine.tables.query(table).entities
        rows = []
        for each in entities[:_MAX_ROWS]:
            kind = kinds.kind_of(table, each.partition_key, each.row_key)
            shown = ", ".join(f"{name}={_text(value)}" for name, value in each.properties.items() if name not in _OWN)
            rows.append(_row(each.partition_key, each.row_key, shown, kind.what.rstrip(",") if kind else None))
        yield {"name": table, "count": len(entities), "unit": "rows", "isTable": True, "rows": rows}
    # Without an import of their clients, a program has no queues and blobs
    if "azure.storage.queue" in sys.modules:
        for queue in engine.queues.page()[0]:
            rows = [_row("", each.id[:8], _short(each.text)) for each in engine.queues.peek(queue.name, 32)]
            yield {"name": queue.name, "count": len(rows), "unit": "visible messages", "rows": rows}
    if "azure.storage.blob" in sys.modules:
        for container in storage.blobs.list_containers():
            blobs = list(storage.blobs.get_container_client(container.name).list_blobs())
            rows = [_row("", each.name, f"{each.size:,} bytes") for each in blobs[:_MAX_ROWS]]
            yield {"name": container.name, "count": len(blobs), "unit": "blobs", "rows": rows}


def _row(partition: str, key: str, properties: str, kind: str | None = None) -> dict[str, Any]:
    return {"partition": partition, "key": key, "properties": properties, "kind": kind}


def _text(value: Any) -> str:
    return f"({len(value):,} bytes)" if isinstance(value, bytes) else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


class PackageMissing(SystemExit):
    """A step of the program declares a package that the page does not load."""


class Steps:
    """The steps of a program, each reported at its end: what it sent, and what the account then stores."""

    def __init__(self, storage: Storage, traffic: Traffic, report: Report) -> None:
        self._storage, self._traffic, self._report = storage, traffic, report
        self._name, self._reported = "setup", 0
        self._before: set[tuple[str, str, str, str]] = set()
        self.cost = Cost()

    def __call__(self, name: str, package: str | None = None) -> None:
        """Begin a step, which ends the one before.

        :param package: what the step declares to need
        """
        self.end()
        self._name = name
        if package is not None and find_spec(package) is None:
            rule = f"The step {name!r} needs the package {package}, which this page does not load."
            raise PackageMissing(f"{rule} Run the program on your computer to see the rest.")

    def end(self) -> None:
        """Report the current step, unless it sent nothing."""
        requests = self._traffic.requests[self._reported :]
        if not requests:
            return
        stored = list(stored_in(self._storage))
        # Without the requests that list the blobs
        self._reported = len(self._traffic.requests)
        now = set()
        for table in stored:
            for row in table["rows"]:
                version = (table["name"], row["partition"], row["key"], row["properties"])
                row["isNew"] = version not in self._before
                now.add(version)
        self._before = now
        shown = [request_of(each) for each in requests[:_MAX_REQUESTS]]
        cost = sum((each.cost for each in requests), Cost())
        self.cost += cost
        step = {"name": self._name, "count": len(requests), "requests": shown, "cost": str(cost), "stored": stored}
        self._report("step", {"step": step})


# ------------------------------------------------------------------ running


async def run(source: str, send: Callable[[str], None]) -> None:
    """Run a program: its `main(storage)`, or all of it with a variable `storage`.

    :param send: receives each report, as JSON: what it is, and its fields
    """

    def report(kind: str, fields: dict[str, Any]) -> None:
        send(json.dumps({kind: fields}))

    output, log = Output(report, "output"), Output(report, "log")
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    begun = time.perf_counter()
    storage = connect()
    # Everywhere: the program may connect to the account itself
    traffic = Traffic(storage, everywhere=True)
    steps = Steps(storage, traffic, report)
    try:
        with storage, traffic, redirect_stdout(output), redirect_stderr(log):
            try:
                with (
                    patch.object(tablepatterns, "connect", _connecting(connect, storage)),
                    patch.object(aio, "connect", _connecting(aio.connect, storage)),
                ):
                    await _execute(source, storage, steps)
            except PackageMissing as error:
                output.write(f"{error}\n")
            finally:
                output.flush()
                log.flush()
                steps.end()
    except BaseException as error:  # noqa: BLE001 - the reader sees it
        report("failed", {"text": error_text(error)})
    else:
        report("done", {"cost": str(steps.cost), "seconds": time.perf_counter() - begun})


def _connecting(function: Callable[..., Any], storage: Storage) -> Callable[..., Any]:
    """Return a `connect` which, without a target, opens the account of the page."""

    def connect(*target: Any, **options: Any) -> Any:
        return function(*target or (storage.engine,), **options)

    return connect


async def _execute(source: str, storage: Storage, steps: Steps) -> None:
    # A step starts on the line of its comment, so that errors have the reader's line numbers
    marked = _MARK.sub(lambda found: f"{found[1]}__step__({found[2]!r}, {found[3]!r})", source)
    # Dataclasses look for the module that they are defined in
    module = sys.modules["program"] = ModuleType("program")
    names = module.__dict__
    names |= {"__step__": steps, "storage": storage}
    script = _Script()
    tree = ast.fix_missing_locations(script.visit(ast.parse(marked, FILE)))
    waiting = eval(compile(tree, FILE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)  # noqa: S307 - the reader's own program
    if waiting is not None:
        await waiting
    main = names.get("main")
    if script.calls_main or not callable(main):
        return
    result = main(storage) if inspect.signature(main).parameters else main()
    if inspect.isawaitable(result):
        await result


class _Script(ast.NodeTransformer):
    """Runs a module as a script where an event loop runs already: `asyncio.run(main())` becomes `await main()`."""

    def __init__(self) -> None:
        self.calls_main = False

    def visit(self, node: ast.AST) -> Any:
        """Leave functions and classes as they are: only the code of the module may await."""
        is_guard = isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        if is_guard or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            return node
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Notice a call of main, and await what asyncio would run."""
        self.generic_visit(node)
        name = ast.unparse(node.func)
        self.calls_main |= name == "main"
        return ast.Await(node.args[0]) if name == "asyncio.run" and node.args else node


def error_text(error: BaseException) -> str:
    """Return the traceback of an error, with only the lines of the reader's program."""
    summary = traceback.TracebackException.from_exception(error)
    summary.stack = traceback.StackSummary.from_list([each for each in summary.stack if each.filename == FILE])
    return "".join(summary.format(chain=False))
