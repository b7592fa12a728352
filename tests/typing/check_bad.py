"""Check that both type checkers refuse every line of bad.py that is marked `# WRONG`, and no other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BAD = Path(__file__).with_name("bad.py")
ROOT = BAD.parents[2]


def printed(*command: str) -> str:
    """Return what a checker, run by this interpreter, prints: it fails, as it should."""
    done = subprocess.run([sys.executable, "-m", *command, BAD], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 1 or not done.stdout:
        sys.exit(f"{command[0]} accepted bad.py, or broke down:\n{done.stdout}{done.stderr}")
    return done.stdout


def refused_by_mypy() -> set[int]:
    reports = [json.loads(line) for line in printed("mypy", "--output=json").splitlines()]
    refused = [report for report in reports if report["severity"] == "error" and Path(report["file"]).samefile(BAD)]
    return {report["line"] for report in refused}


def refused_by_pyright() -> set[int]:
    reports = json.loads(printed("pyright", "--outputjson"))["generalDiagnostics"]
    return {report["range"]["start"]["line"] + 1 for report in reports if report["severity"] == "error"}


def main() -> int:
    lines = BAD.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if re.search(r"# WRONG\b", line)}
    failed = False
    with ThreadPoolExecutor() as pool:
        checkers = {"mypy": pool.submit(refused_by_mypy), "pyright": pool.submit(refused_by_pyright)}
    for checker, done in checkers.items():
        refused = done.result()
        for number in sorted(wrong ^ refused):
            failed = True
            said = "refuses a line that is not marked" if number in refused else "accepts a line marked # WRONG"
            print(f"{BAD.name}:{number}: {checker} {said}: {lines[number - 1].strip()}")
    if not failed:
        print(f"{BAD.name}: both checkers refuse the {len(wrong)} wrong lines and no other")
    return int(failed or not wrong)


if __name__ == "__main__":
    sys.exit(main())
