"""The programs that pages include."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
FOLDERS = (DOCS / "patterns" / "code", DOCS / "code")
PROGRAMS = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]
SMALL_DESIGN = """\
name = "Employees"

[[set]]
name = "Employees"
table = "Employees"
key = { partition = "{Department}", row = "{EmployeeId:06d}" }
entity = "Employee"
count = 2_000

[set.fields]
Department = { distinct = 40, size = 10 }
EmployeeId = { type = "int32" }

[[set.query]]
name = "employee by number"
known = { Department = "=", EmployeeId = "=" }
rate = 30
"""
"""A design that is reviewed quickly."""


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def load(path: Path) -> ModuleType:
    """Return a program as a module."""
    spec = importlib.util.spec_from_file_location(f"program_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def runs_on_memory_only(path: Path) -> bool:
    """Return whether a program has `MEMORY_ONLY = "the reason"`, for example because it moves the clock."""
    return "\nMEMORY_ONLY = " in path.read_text(encoding="utf-8")


def printed(path: Path, storage: Any) -> str:
    """Return the output of a program on this account."""
    output = StringIO()
    with redirect_stdout(output):
        load(path).main(storage)
    return output.getvalue()


@contextmanager
def cleaned(storage: Any) -> Iterator[Any]:
    """Delete what a program created in an account, after the block."""
    services = (
        (storage.tables.list_tables, storage.tables.delete_table),
        (storage.queues.list_queues, storage.queues.delete_queue),
        (storage.blobs.list_containers, storage.blobs.delete_container),
    )
    before = [{each.name for each in listed()} for listed, _ in services]
    try:
        yield storage
    finally:
        for (listed, delete), names in zip(services, before, strict=True):
            for each in [found.name for found in listed() if found.name not in names]:
                delete(each)
