"""Download packages of Pyodide's distribution: `python -m tools.site.wheels cryptography`.

Each file must have the sha256 that pyodide-lock.json states. That file comes with the npm package of Pyodide, whose own
digest is in package-lock.json.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from hashlib import sha256
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

from tools.site.assets import MODULES, WHEELS, closure

_CORE: Final = MODULES / "pyodide"


class WrongFile(ValueError):
    """A downloaded file has the wrong digest."""


def check(name: str, content: bytes, digest: str) -> None:
    """Check the digest of a file.

    :raises WrongFile: the digest differs
    """
    found = sha256(content).hexdigest()
    if found != digest:
        raise WrongFile(f"{name} has the sha256 {found}, and not {digest} as in pyodide-lock.json; nothing was kept")


def distribution_url() -> str:
    """Return the URL from which Pyodide's own loader loads its distribution."""
    version = json.loads((_CORE / "package.json").read_text("utf-8"))["version"]
    loader = (_CORE / "pyodide.mjs").read_text("utf-8")
    (found,) = set(re.findall(r"https://[^`\"']+/full/", loader))
    return re.sub(r"\$\{\w+\}", version, found)


def download(names: Iterable[str]) -> None:
    """Download packages and their dependencies, unless they exist."""
    packages = json.loads((_CORE / "pyodide-lock.json").read_text("utf-8"))["packages"]
    WHEELS.mkdir(exist_ok=True)
    for each in closure(packages, names).values():
        path = WHEELS / each["file_name"]
        if not path.exists():
            with urlopen(distribution_url() + each["file_name"]) as response:  # noqa: S310 - https, see above
                content = response.read()
            check(path.name, content, each["sha256"])
            path.write_bytes(content)


def main(names: list[str]) -> str | None:
    """Download packages; with `--partial`, an unreachable distribution is no failure.

    :return: what went wrong, or None
    """
    is_partial = "--partial" in names
    wanted = [name for name in names if name != "--partial"]
    try:
        download(wanted)
    except URLError as error:
        missing = f"Pyodide's distribution cannot be reached ({error.reason}): {', '.join(wanted)} may be missing"
        if not is_partial:
            return missing
        print(f"{missing}; the site will say so where they are imported", file=sys.stderr)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
