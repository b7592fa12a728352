"""Names that pages write as code exist: members of public classes, and the arguments that calls name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from support.page_programs import DOCS

ROOT: Final = DOCS.parent
PAGES: Final = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted(DOCS.glob("*.md")),
    *(path for folder in ("patterns", "protocols", "tutorials") for path in sorted((DOCS / folder).glob("*.md"))),
]
MODULES: Final = [
    import_module(name)
    for name in (
        *(f"tablepatterns{part}" for part in ("", ".jobs", ".errors", ".traffic", ".filters", ".recipe")),
        *(f"tablepatterns_{part}" for part in ("engine", "explore", "review", "transfer")),
    )
]
_BLOCK: Final = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_MEMBER: Final = re.compile(r"\b([A-Z]\w+)\.([a-z_]\w*)\b")
_CALL: Final = re.compile(r"\b([A-Za-z_]+)\(([^()]*)\)")
_KEYWORD: Final = re.compile(r"\b([a-z_]+)=")


def unknown_names(text: str) -> Iterator[str]:
    """Yield the members and arguments that the code in a text names, and that do not exist."""
    for code in _CODE.findall(_BLOCK.sub("", text)):
        for owner, member in _MEMBER.findall(code):
            kind = _public(owner)
            if kind is not None and not _has_member(kind, member):
                yield f"{owner}.{member}"
        for called, arguments in _CALL.findall(code):
            if parameters := _parameters(_public(called)):
                yield from (f"{called}({name}=)" for name in _KEYWORD.findall(arguments) if name not in parameters)


def _public(name: str) -> Any:
    found = (getattr(module, name) for module in MODULES if hasattr(module, name))
    return next((value for value in found if str(getattr(value, "__module__", "")).startswith("tablepatterns")), None)


def _has_member(kind: Any, member: str) -> bool:
    # Attributes of instances are only in the source
    in_source = inspect.isclass(kind) and f"self.{member}" in inspect.getsource(kind)
    return hasattr(kind, member) or member in getattr(kind, "__annotations__", {}) or in_source


def _parameters(called: Any) -> list[str]:
    """Return the names of the parameters; none if any name is accepted."""
    try:
        parameters = inspect.signature(called).parameters
    except (TypeError, ValueError):
        return []
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return [] if takes_all else list(parameters)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_member_and_argument_that_a_page_names_exists(page: Path) -> None:
    assert list(unknown_names(page.read_text(encoding="utf-8"))) == []


def test_a_name_that_does_not_exist_is_found() -> None:
    text = "`EntitySet.schema`, `EntitySet.update`, `BulkLoad(parallel=2)`, `BulkLoad(max_concurrency=2)`"
    assert list(unknown_names(text)) == ["EntitySet.schema", "BulkLoad(parallel=)"]
