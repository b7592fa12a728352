"""The `tablepatterns` command."""

# Nothing else is imported before signals are handled: each module takes some milliseconds
from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
TERMINATED = 143
_MOMENT = 0.01


class Stopped(SystemExit):
    """SIGTERM arrived, or SIGINT before the command has started."""


_received: list[int] = []


def stop(number: int, _: object) -> None:
    """End the process as a signal asks for; the second signal ends it at once."""
    signal.signal(number, signal.SIG_DFL)
    _received.append(number)
    check_not_stopped()


def check_not_stopped() -> None:
    """End the process if a signal arrived where Python drops exceptions, such as in a callback of the import system."""
    for number in _received:
        is_served = sys.argv[1:2] in (["worker"], ["serve"])
        raise Stopped(0 if is_served else INTERRUPTED if number == signal.SIGINT else TERMINATED)


def repeat_dropped_interrupt(dropped: sys.UnraisableHookArgs) -> None:
    """Send Ctrl+C again where Python has dropped its exception, such as in a generator that is deleted."""
    if dropped.exc_type is KeyboardInterrupt:
        import threading

        again = threading.Timer(_MOMENT, _interrupt, [threading.main_thread().ident])
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(dropped)


def _interrupt(main_thread: int) -> None:
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
    else:
        # A signal to another thread would not end what the main thread waits for
        signal.pthread_kill(main_thread, signal.SIGINT)


def _is_command() -> bool:
    """Whether this process runs the command, and not a program that only imports it."""
    program = sys.argv[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    module = __file__.removesuffix("__init__.py").rstrip("/\\").removesuffix("cli") + "__main__.py"
    return program == "tablepatterns" or sys.argv[0] in ("-m", module)


if _is_command():
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    sys.unraisablehook = repeat_dropped_interrupt
