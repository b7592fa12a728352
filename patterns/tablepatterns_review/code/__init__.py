"""Write a design as Python: the sets, and tests that hold the costs of its access patterns."""

from __future__ import annotations

import keyword
import subprocess
import sys
from importlib.util import find_spec
from typing import Final

from ..design.model import Design
from ..measure.measure import measure
from ..python_source import snake
from .module import Module, render

_IMPORTED: Final = ("pytest", "tablepatterns")
"""Packages that a module of this name would hide."""


def written(design: Design, name: str) -> dict[str, str]:
    """Return the modules of a design by file name: the one that declares it, and its tests.

    They are formatted by `ruff`, where it is installed. A name of another module or a keyword gets `_design` appended.

    >>> from tablepatterns_review import read_design
    >>> design = read_design('''
    ... name = "Staff"
    ... [[set]]
    ... name = "Employees"
    ... key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
    ... count = 20_000
    ... fields = { Department = { distinct = 12 }, EmployeeId = { type = "int32" } }
    ... ''')
    >>> list(written(design, "staff"))
    ['staff.py', 'test_staff.py']
    """
    name = snake(name)
    if name in _IMPORTED or name in sys.stdlib_module_names or keyword.iskeyword(name):
        name = f"{name}_design"
    module = Module(design)
    texts = {f"{name}.py": module.text(), f"test_{name}.py": _tests(design, name)}
    return {file: formatted(text) for file, text in texts.items()}


def _tests(design: Design, module: str) -> str:
    """Return the tests of a design, whose own module is imported by its name."""
    costs = {
        (call.of.name, call.access.name): f"({call.transactions:.4g}, {call.examined:.4g})"
        for call in measure(design)
        if call.rejected is None
    }
    return render("tests.py.jinja", module=module, costs=costs)


def formatted(text: str) -> str:
    """Return a module as `ruff` formats it, without unused imports; as it is if ruff cannot be run."""
    if find_spec("ruff") is None:
        return text
    source = text.encode()
    for action in (("check", "--select", "F401", "--fix-only"), ("format",)):
        command = (sys.executable, "-m", "ruff", *action, "--quiet", "--isolated", "-")
        try:
            source = subprocess.run(command, input=source, capture_output=True, check=True).stdout  # noqa: S603 - fixed
        except (OSError, subprocess.SubprocessError):
            return text
    return source.decode()
