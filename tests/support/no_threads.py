"""Python as in a browser, where threads cannot start."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def forbid_threads(set_attribute: Callable[[Any, str, Any], object] = setattr) -> None:
    """Prevent this process from starting threads.

    :param set_attribute: replaces an attribute; `monkeypatch.setattr` restores it after the test
    """

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    starters = ((_thread, "start_new_thread"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread"))
    for module, name in starters:
        if hasattr(module, name):
            set_attribute(module, name, fail)
    if not hasattr(sys, "_emscripten_info"):
        sys._emscripten_info = None  # type: ignore[attr-defined]
    set_attribute(sys, "_emscripten_info", SimpleNamespace(pthreads=False))
