"""Write the tutorials: code from the files of their examples, and the output of their commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tablepatterns_engine import Engine
from tablepatterns_engine.serving import serving
from tools import ROOT

_FILE: Final = re.compile(r"^(<!-- make pages: file (\S+)((?: \S+)*) -->\n).*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
_COMMANDS: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"^ *# -- (\S+)\n", re.MULTILINE)
_VARYING: Final = {r"in \d+\.\d\ds": "in 1.00s"}
_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".toml": "toml", "": "dockerfile"}


@dataclass(frozen=True)
class Tutorial:
    """A tutorial and its example."""

    PAGE: str
    folder: str

    def render(self, blocks: int = 0) -> str:
        """Return the page with the code of its files, and the output of its commands, run in order.

        :param blocks: the number of blocks whose commands are run, 0 for all; the others are returned as they are
        """
        text = (ROOT / self.PAGE).read_text(encoding="utf-8")
        text = _FILE.sub(lambda found: f"{found[1]}\n{self._code(found[2], found[3].split())}\n\n<!-- end -->", text)
        with tempfile.TemporaryDirectory() as folder, serving(Engine()) as account:
            copied = Path(folder, "example")
            shutil.copytree(ROOT / self.folder, copied, ignore=shutil.ignore_patterns("__pycache__"))
            return _COMMANDS.sub(
                lambda found: f"```console\n{_with_output(found[1], copied, account)}```", text, count=blocks
            )

    def _code(self, name: str, parts: list[str]) -> str:
        """Return a file, or some parts of it, as a code block."""
        _, *marked = _MARK.split((ROOT / self.folder / name).read_text(encoding="utf-8"))
        found = dict(zip(marked[::2], marked[1::2], strict=True))
        whole = _MARK.sub("", (ROOT / self.folder / name).read_text(encoding="utf-8"))
        code = "\n".join(found[part].strip("\n") + "\n" for part in parts) if parts else whole
        return f"```{_LANGUAGES[Path(name).suffix]}\n{code}```"


def _with_output(block: str, folder: Path, account: str) -> str:
    commands = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {each}\n{_output(each, folder, account)}" for each in commands)


def _output(command: str, folder: Path, account: str) -> str:
    """Run a command of a page; `STORAGE=azurite` is an in-memory account served in place of Azurite."""
    command, _, lines = command.partition(" | head -")
    words = shlex.split(command)
    paths = os.pathsep.join([str(ROOT / "patterns"), str(folder)])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("STORAGE", None)
    if words[0] == "STORAGE=azurite":
        environment["STORAGE"] = account
        del words[0]
    python = {"python": [sys.executable], "tablepatterns": [sys.executable, "-m", "tablepatterns"]}[words[0]]
    plain = ["-p", "no:cacheprovider", "-n0"] if "pytest" in words else []
    done = subprocess.run(  # noqa: S603 - our own page
        [*python, *words[1:], *plain],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # A command exits with 1 if it has findings
    if done.returncode not in (0, int(words[0] == "tablepatterns")) or "Traceback" in done.stderr:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    text = done.stdout
    for pattern, shown in _VARYING.items():
        text = re.sub(pattern, shown, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines()[: int(lines) if lines else None])


TUTORIALS: Final = (
    Tutorial("docs/tutorials/help-desk.md", "examples/help_desk"),
    Tutorial("docs/tutorials/iot-fleet.md", "examples/iot_fleet"),
)
