"""`python -m tools.recipe NAME`: create the files of a new recipe, and print the next steps."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from .begin import Unfit, begin

NEXT = """\

Next, in this order (CONTRIBUTING.md, "Add a recipe"):
  1. the recipe, its docstring first, and its test
  2. its entry in the catalog, and its page; then: make schedules, which writes the generated pages too
  3. make guarantees, if a call sends several requests
  4. its notebook and its row in notebooks/README.md, then: make notebooks ARGS={number}
To see what is still to be filled in: make test-memory ARGS="tests/project/test_house.py tests/catalog"
When it is done: make test-memory ARGS="tests/recipes/test_{name}.py tests/catalog tests/docs tests/project"
"""


def main() -> int:
    """Create the files, or print why that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m tools.recipe", description=__doc__)
    parser.add_argument("name", nargs="?", default="", help="the pattern's own name, such as sorted_tail")
    try:
        name = parser.parse_args().name
        made = list(begin(Path.cwd(), name))
    except Unfit as error:
        print(f"{error}: make recipe NAME=sorted_tail", file=sys.stderr)
        return 2
    # The class becomes public; where its import is sorted in a test depends on the name
    code = [path for path in made if path.endswith((".py", ".ipynb"))]
    sorting = ["ruff", "check", "--quiet", "--select", "I", "--fix", *code]
    for module in (["tools.pages.public_names"], sorting):
        subprocess.run([sys.executable, "-m", *module], check=True)  # noqa: S603
    number = Path(made[-1]).name[:2]
    print(*made, NEXT.format(name=name, number=number), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
