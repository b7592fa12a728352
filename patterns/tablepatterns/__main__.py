"""The command `tablepatterns`, also as `python -m tablepatterns`."""

from __future__ import annotations

import sys

from .extras import how_to_install


def main() -> None:
    """Run the command, or say which extra it needs."""
    try:
        from .cli.main import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tablepatterns"):
            raise
        sys.exit(f"the command tablepatterns needs {error.name}: {how_to_install('cli')}")
    run(prog_name="tablepatterns")


if __name__ == "__main__":
    main()
