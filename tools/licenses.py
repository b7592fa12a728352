"""The licenses of this project's dependencies: `python -m tools.licenses` writes docs/data/licenses.tsv.

They are read from the metadata of the installed packages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from tools import DOCS, ROOT
from tools.pages.data_file import DataFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it to Python 3.10

PAGE: Final = DOCS / "data" / "licenses.tsv"
PACKAGE: Final = "tablepatterns"
# Older metadata has classifiers only
_NAMES: Final = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "CC0": "CC0-1.0",
    "ISC License (ISCL)": "ISC",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


class Row(NamedTuple):
    """A required distribution, and its license."""

    name: str
    version: str
    license: str


def asked_for(extra: str = "") -> list[str]:
    """Return the names of the package's requirements without extras, or of those that one extra adds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = project["optional-dependencies"][extra] if extra else project["dependencies"]
    asked = [Requirement(text) for text in texts]
    inner = [each for of in asked if of.name == PACKAGE for name in sorted(of.extras) for each in asked_for(name)]
    return [_normal(each.name) for each in asked if each.name != PACKAGE] + inner


def extras() -> list[str]:
    """Return the names of the package's extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["optional-dependencies"])


def brought(names: Iterable[str]) -> set[str]:
    """Return these distributions with all their dependencies."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        asked = waiting.pop()
        if (name := _normal(asked.name)) not in found:
            found.add(name)
            waiting += _requirements(distribution(name), ["", *asked.extras])
    return found


def row(name: str) -> Row:
    """Return the row of an installed distribution, from its metadata."""
    found = distribution(name)
    return Row(_normal(name), found.version, _license(found))


def render() -> str:
    """Return the text of the table."""
    core = set(asked_for())
    parts = {"the package": core, "its dependencies": brought(core) - core}
    ours = [extra for extra in extras() if extra != "dev"]
    parts |= {f"the extra {extra}": {*asked_for(extra)} - core for extra in ours}
    parts["development (dev)"] = {*asked_for("dev")} - core.union(*map(asked_for, ours))
    rows = [(part, *row(name)) for part, names in parts.items() for name in sorted(names)]
    return DataFile(str(PAGE), ("Needed by", "Name", "Version", "License"), lambda: rows).render()


def _requirements(found: Distribution, wanted: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements of a distribution on this machine, with the given extras."""
    for text in found.requires or ():
        asked = Requirement(text)
        if asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in wanted):
            yield asked


def _license(found: Distribution) -> str:
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    declared = str(metadata.get("License") or "")
    classified = [each.split(" :: ")[-1] for each in metadata.get_all("Classifier") or () if "License ::" in each]
    # Some projects have the whole text of the license here
    names = [declared] if declared and len(declared) < 40 and "\n" not in declared else classified
    return " AND ".join(_NAMES.get(name, name) for name in names) or "not told"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
