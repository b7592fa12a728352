"""Measure the first result of a Run button: `PYTHONPATH=tests:. python -m support.first_result [runs]`."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from support.browser import chromium
from support.page_programs import DOCS
from support.site import build, serve

PROGRAM = DOCS / "patterns" / "code" / "intra_partition_index.py"
PAGE = "# One\n\n<!-- make pages: program -->\n\nThe program.\n"
DONE = "() => document.querySelector('tp-run').dataset.state === 'done'"


def main(runs: int) -> None:
    """Print the time from the click to the end of a program, with nothing in the browser's cache."""
    with tempfile.TemporaryDirectory() as folder:
        pages = {"intra_partition_index.md": PAGE, f"code/{PROGRAM.name}": PROGRAM.read_text("utf-8")}
        pages["index.md"] = "# Site\n```{toctree}\nintra_partition_index\n```\n"
        with serve(build(Path(folder), pages)) as url, chromium() as browser:
            first, later = [], []
            for _ in range(runs):
                page = browser.new_context().new_page()
                page.goto(f"{url}intra_partition_index.html")
                for name, times in (("Run this program", first), ("Run", later)):
                    begun = time.perf_counter()
                    page.get_by_role("button", name=name, exact=name == "Run").click()
                    page.wait_for_function(DONE, timeout=120_000)
                    times.append(time.perf_counter() - begun)
                page.close()
                print(f"{first[-1]:.1f} s, then {later[-1]:.2f} s; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"median: {statistics.median(first):.1f} s, then {statistics.median(later):.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
