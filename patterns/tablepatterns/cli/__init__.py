"""The `tablepatterns` command."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Final

INTERRUPTED: Final = 130
TERMINATED: Final = 143
_UNTIL_STOPPED: Final = ("worker", "serve")


class Stopped(SystemExit):
    """SIGTERM arrived, or SIGINT before the command has started."""


def stop(number: int, _: object) -> None:
    """End the process as a signal asks for; the second signal ends it at once."""
    signal.signal(number, signal.SIG_DFL)
    is_served = sys.argv[1:2] and sys.argv[1] in _UNTIL_STOPPED
    raise Stopped(0 if is_served else INTERRUPTED if number == signal.SIGINT else TERMINATED)


# Before anything else is imported, which takes a second; not in a program that only imports a command
if Path(sys.argv[0]).stem == "tablepatterns" or sys.argv[0] in ("-m", str(Path(__file__).parents[1] / "__main__.py")):
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
