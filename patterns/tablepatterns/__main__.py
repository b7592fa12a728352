"""The command `tablepatterns`, also as `python -m tablepatterns`."""

from __future__ import annotations

import sys

# First: it handles signals. Not `from . import cli`, for which the package would read its list of names
import tablepatterns.cli  # noqa: F401  # pyright: ignore[reportUnusedImport]

from .extras import importing


def main() -> None:
    """Run the command, or say which extra it needs."""
    try:
        with importing("the command tablepatterns needs", extra="cli"):
            from .cli.main import main as run
    except ModuleNotFoundError as error:
        if error.__cause__ is None:
            raise
        sys.exit(str(error))
    run(prog_name="tablepatterns")


if __name__ == "__main__":
    main()
