"""Leases: the service's two tables, row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.blob_states import HOME, A, B, C, put, under
from support.table_states import service_error_of
from tablepatterns.edm import Ticks
from tablepatterns_engine.blobs.leases import (
    INFINITE,
    Acquire,
    Action,
    Break,
    Change,
    Lease,
    Release,
    Renew,
    State,
)
from tablepatterns_engine.blobs.leases import NO_LEASE as NO_LEASE_YET
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.clock import SECOND, Clock
from tablepatterns_engine.errors import ServiceError

STATES = ("available", "leased", "breaking", "broken", "expired")
OK = "ok"
PRESENT, BREAKING = "LeaseAlreadyPresent", "LeaseIsBreakingAndCannotBeAcquired"
MISMATCH, ABSENT = "LeaseIdMismatchWithLeaseOperation", "LeaseNotPresentWithLeaseOperation"
BROKEN, UNCHANGEABLE = "LeaseIsBrokenAndCannotBeRenewed", "LeaseIsBreakingAndCannotBeChanged"

# action: what it leads to from each of the states above
ACTIONS: dict[str, tuple[Action, tuple[str, ...]]] = {
    "acquire": (Acquire(15), ("leased", PRESENT, PRESENT, "leased", "leased")),
    "acquire A": (Acquire(15, A), ("leased", "leased", BREAKING, "leased", "leased")),
    "acquire B": (Acquire(15, B), ("leased", PRESENT, PRESENT, "leased", "leased")),
    "break at once": (Break(0), (ABSENT, "broken", "broken", "broken", "broken")),
    "break later": (Break(5), (ABSENT, "breaking", "breaking", "broken", "broken")),
    "change A to B": (Change(A, B), (ABSENT, "leased", UNCHANGEABLE, ABSENT, ABSENT)),
    "change B to A": (Change(B, A), (ABSENT, "leased", UNCHANGEABLE, ABSENT, ABSENT)),
    "change B to C": (Change(B, C), (ABSENT, MISMATCH, MISMATCH, ABSENT, ABSENT)),
    "renew A": (Renew(A), (MISMATCH, "leased", BROKEN, BROKEN, "leased")),
    "renew B": (Renew(B), (MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH)),
    "release A": (Release(A), (MISMATCH, "available", "available", "available", "available")),
    "release B": (Release(B), (MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH)),
}
NO_LEASE, OTHER, LOST = "LeaseNotPresentWithBlobOperation", "LeaseIdMismatchWithBlobOperation", "LeaseLost"
USES: dict[str, tuple[str, ...]] = {
    "write A": (NO_LEASE, OK, OK, LOST, LOST),
    "write B": (NO_LEASE, OTHER, OTHER, LOST, LOST),
    "write": (OK, "LeaseIdMissing", "LeaseIdMissing", OK, OK),
    "read A": (NO_LEASE, OK, OK, LOST, LOST),
    "read B": (NO_LEASE, OTHER, OTHER, LOST, LOST),
    "read": (OK, OK, OK, OK, OK),
}
LEASES = {None: None, "A": A, "B": B}


def bring_to(state: str, lease: Callable[[Action], object], clock: Clock) -> None:
    """Bring the lease A into a state."""
    if state != "available":
        lease(Acquire(20, A))
    if state in ("breaking", "broken"):
        lease(Break(10))
    if state == "broken":
        clock.advance(10)
    if state == "expired":
        clock.advance(20)


def rows(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    return [(name, state, outcome) for name, row in table.items() for state, outcome in zip(STATES, row, strict=True)]


def code_of(call: Callable[[], object]) -> str:
    error = service_error_of(call)
    return OK if error is None else error.code


class TestBlobs:
    @pytest.fixture(autouse=True)
    def blob(self, blobs: Blobs) -> None:
        put(blobs, "don.jpg", "...")

    @pytest.mark.parametrize(
        ("name", "state", "outcome"), rows({name: row for name, (_, row) in ACTIONS.items()}), ids=str
    )
    def test_an_action_leads_where_the_table_says(
        self, blobs: Blobs, clock: Clock, name: str, state: str, outcome: str
    ) -> None:
        bring_to(state, lambda action: blobs.lease(HOME, "don.jpg", action), clock)
        before = blobs.get(HOME, "don.jpg")
        code = code_of(lambda: blobs.lease(HOME, "don.jpg", ACTIONS[name][0]))
        after = blobs.get(HOME, "don.jpg")
        assert after.etag == before.etag
        if code == OK:
            assert after.lease.state(clock.now()) is State(outcome)
        else:
            assert (code, after) == (outcome, before)

    @pytest.mark.parametrize(("name", "state", "outcome"), rows(USES), ids=str)
    def test_a_use_goes_as_the_table_says(
        self, blobs: Blobs, clock: Clock, name: str, state: str, outcome: str
    ) -> None:
        bring_to(state, lambda action: blobs.lease(HOME, "don.jpg", action), clock)
        verb, _, id_ = name.partition(" ")
        terms = under(LEASES[id_ or None])
        if verb == "read":
            assert code_of(lambda: blobs.get(HOME, "don.jpg", terms)) == outcome
            return
        for write in (
            lambda: blobs.set_metadata(HOME, "don.jpg", {}, terms),
            lambda: blobs.put(HOME, "don.jpg", blobs.get(HOME, "don.jpg").content, terms=terms),
        ):
            before = blobs.get(HOME, "don.jpg")
            assert code_of(write) == outcome
            if outcome != OK:
                assert blobs.get(HOME, "don.jpg") is before

    @pytest.mark.parametrize("state", ["broken", "expired"])
    def test_a_write_makes_the_id_of_a_lease_that_no_longer_runs_forgotten(
        self, blobs: Blobs, clock: Clock, state: str
    ) -> None:
        bring_to(state, lambda action: blobs.lease(HOME, "don.jpg", action), clock)
        blobs.set_metadata(HOME, "don.jpg", {})
        assert code_of(lambda: blobs.lease(HOME, "don.jpg", Renew(A))) == MISMATCH
        assert blobs.get(HOME, "don.jpg").lease == Lease()

    def test_a_write_under_a_lease_keeps_it(self, blobs: Blobs) -> None:
        blobs.lease(HOME, "don.jpg", Acquire(15, A))
        put(blobs, "don.jpg", "other", terms=under(A))
        assert blobs.get(HOME, "don.jpg", under(A)).lease.id == A

    def test_a_blob_cannot_be_created_with_a_lease_id(self, blobs: Blobs) -> None:
        assert code_of(lambda: put(blobs, "other.jpg", terms=under(A))) == NO_LEASE
        assert code_of(
            lambda: blobs.stage(HOME, "other.jpg", "YQ==", blobs.get(HOME, "don.jpg").content, under(A))
        ) == (NO_LEASE)


class TestContainers:
    @pytest.mark.parametrize(
        ("name", "state", "outcome"), rows({name: row for name, (_, row) in ACTIONS.items()}), ids=str
    )
    def test_an_action_leads_where_the_table_says(
        self, blobs: Blobs, clock: Clock, name: str, state: str, outcome: str
    ) -> None:
        bring_to(state, lambda action: blobs.containers.lease(HOME, action), clock)
        before = blobs.containers.get(HOME)
        code = code_of(lambda: blobs.containers.lease(HOME, ACTIONS[name][0]))
        after = blobs.containers.get(HOME)
        assert after.etag == before.etag
        if code == OK:
            assert after.lease.state(clock.now()) is State(outcome)
        else:
            assert (code, after) == (outcome, before)

    def test_an_error_names_the_container(self, blobs: Blobs) -> None:
        error = service_error_of(lambda: blobs.containers.lease(HOME, Break()))
        assert error is not None
        assert error.message == "There is currently no lease on the container."

    @pytest.mark.parametrize(("name", "state", "outcome"), rows(USES), ids=str)
    def test_the_lease_guards_deletion_and_nothing_else(
        self, blobs: Blobs, clock: Clock, name: str, state: str, outcome: str
    ) -> None:
        bring_to(state, lambda action: blobs.containers.lease(HOME, action), clock)
        verb, _, id_ = name.partition(" ")
        terms, expected = under(LEASES[id_ or None]), outcome.replace("BlobOperation", "ContainerOperation")
        put(blobs, "don.jpg", "...")
        if verb == "read":
            assert code_of(lambda: blobs.containers.get(HOME, terms)) == expected
            assert code_of(lambda: blobs.containers.set_metadata(HOME, {}, terms)) == expected
        else:
            assert code_of(lambda: blobs.containers.delete(HOME, terms)) == expected

    def test_an_expired_lease_outlives_changes_of_the_container(self, blobs: Blobs, clock: Clock) -> None:
        bring_to("expired", lambda action: blobs.containers.lease(HOME, action), clock)
        blobs.containers.set_metadata(HOME, {"a": "b"})
        properties, now = blobs.containers.lease(HOME, Renew(A))
        assert properties.lease.state(now) is State.LEASED


# ------------------------------------------------------------------ times


def leased(duration: int) -> Lease:
    return Acquire(duration, A).on(NO_LEASE_YET, Ticks(0), "blob")


def at(seconds: float) -> Ticks:
    return Ticks(int(seconds * SECOND))


@pytest.mark.parametrize("duration", [15, 60, INFINITE])
def test_a_lease_lasts_for_15_to_60_seconds_or_is_infinite(duration: int) -> None:
    lease = leased(duration)
    assert lease.state(at(14.999)) is State.LEASED
    assert lease.state(at(60)) is (State.LEASED if duration == INFINITE else State.EXPIRED)


@pytest.mark.parametrize("duration", [-2, 0, 14, 61])
def test_no_lease_runs_for_another_time(duration: int) -> None:
    with pytest.raises(ServiceError) as caught:
        leased(duration)
    assert caught.value.code == "InvalidHeaderValue"
    assert caught.value.error_message.details == (("HeaderName", "x-ms-lease-duration"), ("HeaderValue", str(duration)))


@pytest.mark.parametrize("period", [-1, 61])
def test_no_break_takes_longer_than_a_minute(period: int) -> None:
    with pytest.raises(ServiceError) as caught:
        Break(period).on(leased(60), Ticks(0), "blob")
    assert caught.value.code == "InvalidHeaderValue"


@pytest.mark.parametrize(
    ("duration", "period", "left"),
    [(60, None, 50), (60, 5, 5), (60, 60, 50), (INFINITE, None, 0), (INFINITE, 60, 60), (60, 0, 0), (INFINITE, 0, 0)],
)
def test_a_break_takes_the_shorter_of_the_period_and_what_is_left(duration: int, period: int | None, left: int) -> None:
    lease = Break(period).on(leased(duration), at(10), "blob")
    assert lease.seconds_left(at(10)) == left
    assert lease.state(at(10)) is (State.BREAKING if left else State.BROKEN)
    assert lease.state(at(10 + left)) is State.BROKEN


def test_another_break_can_only_make_it_shorter() -> None:
    lease = Break(30).on(leased(60), at(0), "blob")
    assert Break(40).on(lease, at(10), "blob").seconds_left(at(10)) == 20
    assert Break(None).on(lease, at(10), "blob").seconds_left(at(10)) == 20
    assert Break(5).on(lease, at(10), "blob").seconds_left(at(10)) == 5


def test_a_renewed_lease_runs_for_its_own_duration_again() -> None:
    lease = Renew(A).on(leased(20), at(50), "blob")
    assert (lease.state(at(69)), lease.state(at(70))) == (State.LEASED, State.EXPIRED)


def test_an_acquired_lease_has_the_new_duration_and_the_proposed_id_or_a_new_one() -> None:
    again = Acquire(INFINITE, A).on(leased(15), at(1), "blob")
    assert (again.id, again.duration, again.ends) == (A, INFINITE, None)
    assert len({Acquire(15).on(NO_LEASE_YET, at(0), "blob").id for _ in range(3)}) == 3


def test_a_changed_lease_ends_when_it_would_have() -> None:
    lease = Change(A, B).on(leased(15), at(10), "blob")
    assert (lease.id, lease.ends) == (B, at(15))
