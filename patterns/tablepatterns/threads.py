"""Whether threads can start: in a browser, where Python runs in WebAssembly, they usually cannot."""

from __future__ import annotations

import sys


def can_start_threads() -> bool:
    """Return whether this Python can start threads. Where it cannot, what would run in parallel runs in turn."""
    # Exists on Emscripten only, where it is documented
    build = getattr(sys, "_emscripten_info", None)
    return sys.platform != "wasi" and (build is None or build.pthreads)
