"""Check that both type checkers refuse every line of bad.py and mistakes.py that is marked `# WRONG`, and no other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILES = tuple(Path(__file__).with_name(name) for name in ("bad.py", "mistakes.py"))
ROOT = FILES[0].parents[2]


def printed(path: Path, *command: str) -> str:
    """Return what a checker, run by this interpreter, prints: it fails, as it should."""
    done = subprocess.run([sys.executable, "-m", *command, path], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 1 or not done.stdout:
        sys.exit(f"{command[0]} accepted {path.name}, or broke down:\n{done.stdout}{done.stderr}")
    return done.stdout


def refused_by_mypy(path: Path) -> set[int]:
    reports = [json.loads(line) for line in printed(path, "mypy", "--output=json").splitlines()]
    refused = [report for report in reports if report["severity"] == "error" and Path(report["file"]).samefile(path)]
    return {report["line"] for report in refused}


def refused_by_pyright(path: Path) -> set[int]:
    reports = json.loads(printed(path, "pyright", "--outputjson"))["generalDiagnostics"]
    return {report["range"]["start"]["line"] + 1 for report in reports if report["severity"] == "error"}


def check(path: Path) -> bool:
    """Print what the checkers do otherwise than a file says, and return whether there is such a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if re.search(r"# WRONG\b", line)}
    failed = False
    with ThreadPoolExecutor() as pool:
        checkers = {"mypy": pool.submit(refused_by_mypy, path), "pyright": pool.submit(refused_by_pyright, path)}
    for checker, done in checkers.items():
        refused = done.result()
        for number in sorted(wrong ^ refused):
            failed = True
            said = "refuses a line that is not marked" if number in refused else "accepts a line marked # WRONG"
            print(f"{path.name}:{number}: {checker} {said}: {lines[number - 1].strip()}")
    if not failed:
        print(f"{path.name}: both checkers refuse the {len(wrong)} wrong lines and no other")
    return failed or not wrong


def main() -> int:
    failures = [path for path in FILES if check(path)]
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
