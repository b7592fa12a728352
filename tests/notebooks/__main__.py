"""Run the notebooks and keep their outputs: `make notebooks`, or `make notebooks ARGS="01 09"` for some of them."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from notebooks.book import Book, books
from notebooks.rules import RULES
from notebooks.running import executed, save
from notebooks.shell import CellError


def main() -> int:
    parser = argparse.ArgumentParser(prog="make notebooks", description="Run the notebooks and keep their outputs.")
    parser.add_argument("which", nargs="*", help="beginnings of file names, such as 01; by default all")
    which = parser.parse_args().which
    paths = [path for path in books() if not which or path.name.startswith(tuple(which))]
    if not paths:
        parser.error(f"no notebook begins with {' or '.join(which)}")
    failed = False
    with ProcessPoolExecutor() as pool:
        for path, problems in zip(paths, pool.map(rerun, paths), strict=True):
            print(f"{path.name}: {'ok' if not problems else ''}", *problems, sep="\n  " if problems else "")
            failed = failed or bool(problems)
    return int(failed)


def rerun(path: Path) -> list[str]:
    """Run one notebook and write its outputs; return what is wrong with it. After an error the file is as it was."""
    try:
        book = executed(Book.read(path))
    except CellError as error:
        return [str(error)]
    save(book, path)
    return [problem for rule in RULES for problem in rule(Book.read(path))]


if __name__ == "__main__":
    sys.exit(main())
