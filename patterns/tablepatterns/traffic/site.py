"""Site: the line of the user's code that a request comes from."""

from __future__ import annotations

import asyncio
import linecache
import sys
import sysconfig
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import azure.core
import tenacity

_SKIPPED, _USERS, _ENDS = range(3)

_STDLIB: Final = sysconfig.get_path("stdlib")
_INSTALLED: Final = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
_OURS: Final = tuple(
    f"{Path(str(module)).resolve().parents[up]}/"
    for module, up in ((__file__, 1), (azure.core.__file__, 1), (tenacity.__file__, 0))
)
# Below these lies the line that runs the event loop or the pool, which is not where the request comes from
_LOOPS: Final = (f"{Path(asyncio.__file__).parent}/", f"{_STDLIB}/concurrent/", f"{_STDLIB}/threading.py")
_POLICIES: Final = f"{Path(azure.core.__file__).resolve().parent}/pipeline/"
_PIPELINE: Final = 12
"""So many frames below its hook the pipeline of every client of the SDK still goes from policy to policy."""

_kinds: dict[str, int] = {}
holding: ContextVar[Site | None] = ContextVar("holding", default=None)
"""The line that work in threads and tasks is done for."""


class Site(NamedTuple):
    """A line of code.

    :param file: the path of the file, or what stands for it in a notebook
    :param line: counted from 1
    :param function: the name of the function that it is in
    """

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        """The text of the line, "" where it is not at hand."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


def call_site() -> Site | None:
    """Return the innermost line on the stack that is neither ours, nor the SDK's, nor Python's own."""
    frame: FrameType | None = _start()
    known = _kinds
    while frame is not None:
        name = frame.f_code.co_filename
        kind = known.get(name)
        if kind is None:
            kind = known[name] = _kind(name)
        if kind:
            if kind == _ENDS:
                break
            return Site(name, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return holding.get()


def _start() -> FrameType:
    """Return where to begin: in the SDK's pipeline, if this is called below it, since to look at a frame takes time."""
    get = sys._getframe  # pyright: ignore[reportPrivateUsage]
    try:
        frame = get(_PIPELINE)
    except ValueError:
        return get(1)
    return frame if frame.f_code.co_filename.startswith(_POLICIES) else get(1)


def _kind(name: str) -> int:
    if name.startswith("<"):
        return _SKIPPED if name.startswith("<frozen") else _USERS
    if name.startswith(_LOOPS):
        return _ENDS
    if name.startswith(_OURS):
        return _SKIPPED
    is_pythons = name.startswith(f"{_STDLIB}/") and not name.startswith(_INSTALLED)
    return _SKIPPED if is_pythons else _USERS
