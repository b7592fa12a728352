"""Random operations on blobs, compared with a simple model: one record per name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support.blob_states import HOME, ONE, TWO, A, B, all_items, all_names, of, text_of
from support.examples import examples
from support.soundness import check_blobs
from support.table_states import service_error_of
from tablepatterns_engine.blobs.blob import Blob, Draft, Kind, Where
from tablepatterns_engine.blobs.conditions import Terms
from tablepatterns_engine.blobs.leases import Acquire, Break, Release
from tablepatterns_engine.blobs.listing import ListBlobsQuery, VersionsOnly
from tablepatterns_engine.blobs.service import Blobs, CopySource
from tablepatterns_engine.clock import Clock

NAMES = st.sampled_from(["a", "a/b", "b"])
TEXTS = st.sampled_from(["", "x", "yz"])
BLOCKS = st.sampled_from([ONE, TWO])
LISTS = st.lists(st.tuples(st.sampled_from(list(Where)), BLOCKS), max_size=3)
LEASES = st.sampled_from([None, None, A, B])
CONDITIONS = st.sampled_from(["none", "none", "current", "stale", "missing"])


@dataclass
class Known:
    """What the model knows of a name."""

    text: str | None = None
    etag: str = ""
    kind: Kind = Kind.BLOCK
    blocks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    staged: dict[str, str] = field(default_factory=dict[str, str])
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    snapshots: list[str] = field(default_factory=list[str])
    versions: list[str] = field(default_factory=list[str])
    lease: UUID | None = None
    until: float = 0

    def chosen(self, where: Where, block: str) -> str | None:
        """Return the text of a block, None where it is not in that list."""
        kept = dict(self.blocks)
        lists = {Where.COMMITTED: kept, Where.UNCOMMITTED: self.staged, Where.LATEST: {**kept, **self.staged}}
        return lists[where].get(block)


class BlobsMachine(RuleBasedStateMachine):
    """The engine's blobs beside a model of one container."""

    keeps_versions = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(datetime(2014, 8, 22, tzinfo=timezone.utc))
        self.blobs = Blobs(self.clock)
        self.blobs.keeps_versions = self.keeps_versions
        self.blobs.containers.create(HOME)
        self.known: dict[str, Known] = {}
        self.now = 0.0

    # -- What must come of a request

    def error(self, known: Known, condition: str, lease: UUID | None, *, creates: bool) -> str | None:
        """Return the code of what is wrong with a write, None for nothing."""
        there = known.text is not None
        locked = there and known.lease is not None and self.now < known.until
        if not there and not creates:
            return "BlobNotFound"
        if condition == "missing" and there and not creates:
            return "ConditionNotMet"
        if condition == "stale" or (condition == "current" and not there):
            return "ConditionNotMet"
        if locked and lease is None:
            return "LeaseIdMissing"
        if locked and lease != known.lease:
            return "LeaseIdMismatchWithBlobOperation"
        if not locked and lease is not None:
            return "LeaseLost" if there and known.lease is not None else "LeaseNotPresentWithBlobOperation"
        # The holder of the lease may replace the blob all the same
        return "BlobAlreadyExists" if condition == "missing" and there and not locked else None

    def terms(self, known: Known, condition: str, lease: UUID | None) -> Terms:
        conditions: dict[str, dict[str, Any]] = {
            "none": {},
            "current": {"match": {known.etag or '"0x1"'}},
            "stale": {"match": {'"0x1"'}},
            "missing": {"none_match": {"*"}},
        }
        return Terms(lease=lease, **conditions[condition])

    def write(
        self,
        name: str,
        condition: str,
        lease: UUID | None,
        call: Callable[[Terms], Blob],
        wrong: str | None,
        change: Callable[[Known], None],
        *,
        creates: bool = False,
        is_version: bool = True,
    ) -> None:
        """Carry out a write on both sides."""
        known = self.known.get(name, Known())
        terms = self.terms(known, condition, lease)
        expected = self.error(known, condition, lease, creates=creates) or wrong
        made: list[Blob] = []
        error = service_error_of(lambda: made.append(call(terms)))
        assert (error and error.code) == expected
        if expected is None:
            self.known[name] = known
            if is_version:
                self.keep(known)
            change(known)
            known.etag = made[0].etag
            if not (known.lease and self.now < known.until):
                known.lease = None

    def keep(self, known: Known) -> None:
        """Keep the current version as a previous one."""
        if self.keeps_versions and known.text is not None:
            known.versions.append(known.text)

    # -- Rules

    @rule(name=NAMES, text=TEXTS, owner=TEXTS, condition=CONDITIONS, lease=LEASES)
    def put(self, name: str, text: str, owner: str, condition: str, lease: UUID | None) -> None:
        def change(known: Known) -> None:
            known.text, known.kind, known.metadata = text, Kind.BLOCK, {"Owner": owner}
            known.blocks, known.staged = [], {}

        draft = Draft(metadata={"Owner": owner})
        call = lambda terms: self.blobs.put(HOME, name, of(text), draft, terms=terms)  # noqa: E731
        self.write(name, condition, lease, call, None, change, creates=True)

    @rule(name=NAMES, condition=CONDITIONS, lease=LEASES)
    def create_append_blob(self, name: str, condition: str, lease: UUID | None) -> None:
        def change(known: Known) -> None:
            known.text, known.kind, known.metadata, known.blocks, known.staged = "", Kind.APPEND, {}, [], {}

        call = lambda terms: self.blobs.put(HOME, name, of(""), kind=Kind.APPEND, terms=terms)  # noqa: E731
        self.write(name, condition, lease, call, None, change, creates=True)

    @rule(name=NAMES, block=BLOCKS, text=TEXTS.filter(bool), lease=LEASES)
    def stage(self, name: str, block: str, text: str, lease: UUID | None) -> None:
        known = self.known.get(name, Known())
        expected = self.error(known, "none", lease, creates=True)
        if expected is None and known.text is not None and known.kind is Kind.APPEND:
            expected = "InvalidBlobType"
        error = service_error_of(lambda: self.blobs.stage(HOME, name, block, of(text), Terms(lease=lease)))
        assert (error and error.code) == expected
        if expected is None:
            self.known.setdefault(name, known).staged[block] = text

    @rule(name=NAMES, entries=LISTS, condition=CONDITIONS, lease=LEASES)
    def commit(self, name: str, entries: list[tuple[Where, str]], condition: str, lease: UUID | None) -> None:
        before = self.known.get(name, Known())
        texts = [(block, before.chosen(where, block)) for where, block in entries]
        found = [(block, text) for block, text in texts if text is not None]

        def change(known: Known) -> None:
            known.text, known.kind, known.metadata = "".join(text for _, text in found), Kind.BLOCK, {}
            known.blocks, known.staged = found, {}

        mixed = before.text is not None and before.kind is Kind.APPEND
        wrong = "InvalidBlobType" if mixed else None if found == texts else "InvalidBlockList"
        call = lambda terms: self.blobs.commit(HOME, name, entries, terms=terms)  # noqa: E731
        self.write(name, condition, lease, call, wrong, change, creates=True)

    @rule(
        name=NAMES,
        text=TEXTS.filter(bool),
        condition=CONDITIONS,
        lease=LEASES,
        position=st.none() | st.integers(0, 4),
    )
    def append(self, name: str, text: str, condition: str, lease: UUID | None, position: int | None) -> None:
        before = self.known.get(name, Known())
        moved = position is not None and position != len(before.text or "")
        wrong = "InvalidBlobType" if before.kind is Kind.BLOCK else "AppendPositionConditionNotMet" if moved else None

        def change(known: Known) -> None:
            known.text = (known.text or "") + text

        call = lambda terms: self.blobs.append(HOME, name, of(text), terms, position=position)  # noqa: E731
        self.write(name, condition, lease, call, wrong, change, is_version=False)

    @rule(name=NAMES, owner=TEXTS, condition=CONDITIONS, lease=LEASES)
    def set_metadata(self, name: str, owner: str, condition: str, lease: UUID | None) -> None:
        def change(known: Known) -> None:
            known.metadata = {"Owner": owner}

        call = lambda terms: self.blobs.set_metadata(HOME, name, {"Owner": owner}, terms)  # noqa: E731
        self.write(name, condition, lease, call, None, change)

    @rule(name=NAMES, source=NAMES)
    def copy(self, name: str, source: str) -> None:
        known, origin = self.known.get(name, Known()), self.known.get(source, Known())
        expected = "BlobNotFound" if origin.text is None else self.error(known, "none", None, creates=True)
        if expected is None and known.text is not None and known.kind is not origin.kind:
            expected = "InvalidBlobType"
        made: list[Blob] = []
        error = service_error_of(lambda: made.append(self.blobs.copy(HOME, name, CopySource(HOME, source))))
        assert (error and error.code) == expected
        if expected is None:
            self.known[name] = known
            self.keep(known)
            known.text, known.kind, known.metadata = origin.text, origin.kind, dict(origin.metadata)
            known.blocks, known.staged, known.etag, known.lease = list(origin.blocks), {}, made[0].etag, None

    @rule(name=NAMES)
    def snapshot(self, name: str) -> None:
        known = self.known.get(name, Known())
        error = service_error_of(lambda: self.blobs.snapshot(HOME, name))
        assert (error is None) == (known.text is not None)
        if known.text is not None:
            known.snapshots.append(known.text)
            self.keep(known)

    @rule(name=NAMES, position=st.integers(0, 2))
    def read_promote_and_delete_a_version(self, name: str, position: int) -> None:
        known = self.known.get(name, Known())
        states = [blob for blob in all_items(self.blobs, versions=True) if isinstance(blob, Blob) and blob.name == name]
        previous = [blob for blob in states if not blob.is_current]
        assert [text_of(blob) for blob in previous] == known.versions
        if position >= len(previous):
            return
        revision = previous[position].revision
        assert self.blobs.get(HOME, name, revision=revision) == previous[position]
        self.blobs.copy(HOME, f"{name}!", CopySource(HOME, name, revision))
        assert text_of(self.blobs.get(HOME, f"{name}!")) == known.versions.pop(position)
        self.blobs.delete(HOME, name, revision=revision)
        self.blobs.delete(HOME, f"{name}!")
        for blob in all_items(self.blobs, versions=True):
            if isinstance(blob, Blob) and blob.name.endswith("!"):
                self.blobs.delete(HOME, blob.name, revision=blob.revision)
        error = service_error_of(lambda: self.blobs.get(HOME, name, revision=revision))
        assert error is not None
        assert error.code == "BlobNotFound"

    @rule(name=NAMES, condition=CONDITIONS, lease=LEASES, include=st.booleans())
    def delete(self, name: str, condition: str, lease: UUID | None, include: bool) -> None:
        known = self.known.get(name, Known())
        # Uncommitted blocks have neither version nor lease
        if known.text is None:
            expected = None if known.staged else "BlobNotFound"
        else:
            expected = self.error(known, condition, lease, creates=False)
            if expected is None and known.snapshots and not include:
                expected = "SnapshotsPresent"
        terms, snapshots = self.terms(known, condition, lease), "include" if include else None
        error = service_error_of(lambda: self.blobs.delete(HOME, name, terms, snapshots=snapshots))
        assert (error and error.code) == expected
        if expected is None:
            self.keep(known)
            self.known[name] = Known(versions=known.versions)

    @rule(name=NAMES, lease=st.sampled_from([A, B]))
    def acquire(self, name: str, lease: UUID) -> None:
        known = self.known.get(name, Known())
        expected = "BlobNotFound" if known.text is None else None
        if known.lease not in (None, lease) and self.now < known.until:
            expected = "LeaseAlreadyPresent"
        error = service_error_of(lambda: self.blobs.lease(HOME, name, Acquire(15, lease)))
        assert (error and error.code) == expected
        if expected is None:
            known.lease, known.until = lease, self.now + 15

    @rule(name=NAMES, lease=st.sampled_from([A, B]))
    def release(self, name: str, lease: UUID) -> None:
        known = self.known.get(name, Known())
        error = service_error_of(lambda: self.blobs.lease(HOME, name, Release(lease)))
        assert (error is None) == (known.text is not None and known.lease == lease)
        if error is None:
            known.lease = None

    @rule(seconds=st.sampled_from([1, 14, 15]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.now += seconds

    @rule(name=NAMES)
    def break_and_release(self, name: str) -> None:
        known = self.known.get(name, Known())
        error = service_error_of(lambda: self.blobs.lease(HOME, name, Break(0)))
        assert (error is None) == (known.text is not None and known.lease is not None)
        if error is None and known.lease is not None:
            self.blobs.lease(HOME, name, Release(known.lease))
            known.lease = None

    # -- What must hold

    @invariant()
    def holds_what_the_model_holds_and_is_sound(self) -> None:
        check_blobs(self.blobs)
        committed = [name for name, known in sorted(self.known.items()) if known.text is not None]
        assert all_names(self.blobs) == committed
        named = [name for name, known in sorted(self.known.items()) if known.text is not None or known.staged]
        assert all_names(self.blobs, uncommitted=True, limit=1) == named
        states = [blob for blob in all_items(self.blobs, versions=True, limit=2) if isinstance(blob, Blob)]
        deleted = all_items(self.blobs, versions_only=True)
        for name, known in self.known.items():
            texts = known.versions if known.text is None else [*known.versions, known.text]
            assert [text_of(blob) for blob in states if blob.name == name] == texts
            is_deleted = known.text is None and bool(known.versions)
            assert any(isinstance(item, VersionsOnly) and item.blob.name == name for item in deleted) is is_deleted
        for name in committed:
            blob, known = self.blobs.get(HOME, name), self.known[name]
            assert (text_of(blob), blob.etag, blob.kind) == (known.text, known.etag, known.kind)
            assert blob.metadata == known.metadata
        for name, known in self.known.items():
            if known.staged or (known.text is not None and known.kind is Kind.BLOCK):
                blocks = self.blobs.blocks(HOME, name)
                assert {block.id: bytes(block.content).decode() for block in blocks.uncommitted} == known.staged
        taken = [text for name in committed for text in self.known[name].snapshots]
        page = self.blobs.page(HOME, ListBlobsQuery(snapshots=True)).items
        assert [text_of(blob) for blob in page if isinstance(blob, Blob) and blob.snapshot] == taken


class VersionsMachine(BlobsMachine):
    """The same in an account that keeps versions."""

    keeps_versions = True


TestBlobsMachine = BlobsMachine.TestCase
TestVersionsMachine = VersionsMachine.TestCase
TestVersionsMachine.settings = settings(examples(100), stateful_step_count=40)
TestBlobsMachine.settings = settings(examples(100), stateful_step_count=40)
