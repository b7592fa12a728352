"""Lists of blobs: prefixes, delimiters, pages and markers, compared with a simple slow implementation."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import given

from support.blob_states import HOME, ONE, all_items, all_names, of, put
from support.table_states import Rejected
from tablepatterns_engine.blobs.blob import Blob
from tablepatterns_engine.blobs.listing import ListBlobsQuery, Prefix, Uncommitted, beyond
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.clock import Clock

NAMES = st.text("ab/-\U0010ffff\ue000", min_size=1, max_size=5)
PREFIXES = st.text("ab/\U0010ffff", max_size=2)
DELIMITERS = st.sampled_from(["", "/", "-", "a", "//"])


def expected(names: set[str], prefix: str, delimiter: str) -> Iterator[str]:
    """Yield what a list shows, in order, each group once."""
    shown: str | None = None
    for name in sorted(names):
        if not name.startswith(prefix):
            continue
        at = name.find(delimiter, len(prefix)) if delimiter else -1
        item = name if at < 0 else name[: at + len(delimiter)]
        if item != shown:
            yield item
        shown = item if at >= 0 else None


@given(names=st.sets(NAMES, max_size=12), prefix=PREFIXES, delimiter=DELIMITERS, limit=st.integers(1, 4))
def test_pages_of_any_size_show_every_name_or_its_group_once_and_in_order(
    names: set[str], prefix: str, delimiter: str, limit: int
) -> None:
    blobs = Blobs(Clock())
    blobs.containers.create(HOME)
    for name in names:
        put(blobs, name)
    items = all_items(blobs, prefix=prefix, delimiter=delimiter, limit=limit)
    assert [str(getattr(item, "name", item)) for item in items] == list(expected(names, prefix, delimiter))
    alone = [item.name for item in items if isinstance(item, Blob)]
    assert not any(delimiter and delimiter in name[len(prefix) :] for name in alone)


@given(
    snapshots=st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1),
    uncommitted=st.sets(st.sampled_from("xyz")),
    limit=st.integers(1, 3),
)
def test_snapshots_come_before_their_blob_oldest_first_on_pages_of_any_size(
    snapshots: dict[str, int], uncommitted: set[str], limit: int
) -> None:
    blobs = Blobs(Clock())
    blobs.containers.create(HOME)
    for name, count in snapshots.items():
        put(blobs, name)
        for _ in range(count):
            blobs.snapshot(HOME, name)
    for name in uncommitted:
        blobs.stage(HOME, name, ONE, of("..."))
    whole = [name + "@" * (each < snapshots[name]) for name in sorted(snapshots) for each in range(snapshots[name] + 1)]
    assert all_names(blobs, snapshots=True, limit=limit) == whole
    assert all_names(blobs, limit=limit) == sorted(snapshots)
    assert all_names(blobs, uncommitted=True, limit=limit) == sorted({*snapshots, *uncommitted})
    taken = [each.snapshot for each in all_items(blobs, snapshots=True) if isinstance(each, Blob) and each.name == "a"]
    assert taken[:-1] == sorted(moment for moment in taken if moment)


def test_blobs_and_prefixes_are_distinguished(blobs: Blobs) -> None:
    put(blobs, "a/1")
    put(blobs, "b")
    blobs.stage(HOME, "c", ONE, of("..."))
    assert [type(item) for item in all_items(blobs, delimiter="/", uncommitted=True)] == [Prefix, Blob, Uncommitted]


def test_a_group_of_which_nothing_is_shown_is_not_shown(blobs: Blobs) -> None:
    blobs.stage(HOME, "a/1", ONE, of("..."))
    assert all_names(blobs, delimiter="/") == []
    put(blobs, "a/2")
    assert all_names(blobs, delimiter="/") == ["a/"]


def test_a_last_page_that_is_full_has_no_mark(blobs: Blobs) -> None:
    put(blobs, "a")
    put(blobs, "b")
    assert blobs.page(HOME, ListBlobsQuery(limit=2)).next is None
    assert blobs.page(HOME, ListBlobsQuery(limit=1)).next is not None


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_of_nothing_is_rejected(blobs: Blobs, rejected: Rejected, limit: int) -> None:
    with rejected("OutOfRangeQueryParameterValue"):
        blobs.page(HOME, ListBlobsQuery(limit=limit))
    with rejected("OutOfRangeQueryParameterValue"):
        blobs.containers.page(limit=limit)


@pytest.mark.parametrize("limit", [5000, 5001])
def test_a_page_has_up_to_5000_items_whatever_is_asked_for(blobs: Blobs, limit: int) -> None:
    for number in range(5001):
        put(blobs, f"{number:04}")
    assert len(blobs.page(HOME, ListBlobsQuery(limit=limit)).items) == 5000


@given(prefix=st.text("ab\U0010ffff", max_size=3), name=st.text("ab\U0010ffff", max_size=5))
def test_what_is_beyond_a_prefix_is_behind_all_that_begins_with_it_and_before_all_else(prefix: str, name: str) -> None:
    end = beyond(prefix)
    inside = prefix <= name and (end is None or name < end)
    assert inside == name.startswith(prefix)
