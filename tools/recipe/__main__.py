"""`python -m tools.recipe NAME`: create the files of a new recipe, and print the next steps."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from .begin import Unfit, begin

NEXT = """\

Next, in this order (CONTRIBUTING.md, "Add a recipe"):
  1. the recipe, its docstring first, and its tests
  2. an entry in patterns/tablepatterns/catalogue, and a line in CHANGELOG.md
  3. what it costs (tests/budgets), and what it works together with (tests/compositions)
  4. its schedules, then: make guarantees. If it makes one request only, delete that test and its limits.
  5. its types (tests/typing), its page with its program, then: make schedules; its notebook, then: make notebooks
To see what is still to be filled in: make test-memory ARGS="tests/project/test_house.py tests/catalogue"
"""


def main() -> int:
    """Create the files, or print why that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m tools.recipe", description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="the pattern's own name, such as sorted_tail")
    try:
        made = list(begin(Path.cwd(), parser.parse_args().name))
    except Unfit as error:
        print(f"{error}: make recipe NAME=sorted_tail", file=sys.stderr)
        return 2
    # The sorted position of the imports depends on the name
    code = [path for path in made if path.endswith((".py", ".pyi", ".ipynb"))]
    subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "--select", "I", "--fix", *code], check=True)  # noqa: S603
    print(*made, NEXT, sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
