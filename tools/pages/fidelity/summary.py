"""The page on fidelity: how many behaviors are the same, and how that is known."""

from __future__ import annotations

from pathlib import Path

from tools import ROOT
from tools.pages.fidelity import recordings
from tools.pages.fidelity.page import all_rows, azurite_version
from tools.pages.fidelity.rows import sections
from tools.pages.fidelity.suite import deviations, exclusions
from tools.pages.markdown import introduction, page

PAGE = "docs/fidelity.md"


def render(root: Path = ROOT) -> str:
    """Return the page on this repository."""
    found = sections()
    rows = list(all_rows(found))
    numbers = {
        "all": len(rows),
        "same": sum(row.is_same for row in rows),
        "lacking": sum(row.lacks for row in rows),
        "other": sum(row.differs for row in rows),
        "untested": sum(not row.tests for row in rows),
        "inferred": sum("inferred" in row.evidence for row in rows),
        "recorded": sum(any(item.startswith("recorded") for item in row.evidence) for row in rows),
        "tests": f"{len({test for row in rows for test in row.tests}):,}",
        "azurite": azurite_version(root),
        "deviations": len(deviations(root)),
        "exclusions": len(list(exclusions(root))),
        "shares": recordings.shares(),
        "exchanges": f"{recordings.FIGURES['exchanges']:,}",
        "compared": f"{recordings.compared():,}",
        "common": f"{sum(counts['exchanges'] for counts in recordings.FIGURES['common']['engine'].values()):,}",
        "status": recordings.share_of_engine("status"),
        "body": recordings.share_of_engine("body"),
        "headers": recordings.share_of_engine("headers"),
    }
    return page(
        introduction(
            "fidelity",
            **numbers,
        )
    )
