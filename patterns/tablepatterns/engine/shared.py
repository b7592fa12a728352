"""The engines of this process that have a name: `memory://name` is the same account wherever it is connected to."""

from __future__ import annotations

import threading

from .account import Engine

_named: dict[str, Engine] = {}
_lock = threading.Lock()


def engine_for(name: str) -> Engine:
    """Return the engine of that name, made on first use; no name means a new engine that nobody else has."""
    if not name:
        return Engine()
    with _lock:
        if name not in _named:
            _named[name] = Engine()
        return _named[name]
