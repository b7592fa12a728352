"""The part of the page on exploring schedules about the package's own recipes, from the record of explorations."""

from __future__ import annotations

from tools import ROOT
from tools.pages.guarantees import Proof
from tools.pages.markdown import between, table

PAGE = "docs/exploring-schedules.md"
TESTS = "tests/explore/test_explore_recipes.py::test_"
UPDATE = "an_update_is_made_exactly_once_after_a_crash_and_a_lost_response"
ROWS = {
    "`EntitySet.insert` with an `IntraPartitionIndex`, the same value": "an_index_is_always_exact_and_unique",
    "`LogTail.append`, to a table that is not there yet": "a_log_keeps_every_entry_once",
    "`EntitySet.update`, a crash and no lost response": "an_update_is_made_exactly_once_after_any_crash",
    "`EntitySet.update`": UPDATE,
}


def render() -> str:
    """Return the page with this part up to date."""
    found = {name: Proof.read().explored(TESTS + test)[0] for name, test in ROWS.items()}
    cells = [(name, f"{seen['schedules']:,}", f"{seen['pruned']:,}") for name, seen in found.items()]
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return between(text, "explored", table(("Actors", "Schedules run", "Pruned (state already seen)"), cells))
