"""One request on its way through the Blob service."""

from __future__ import annotations

from collections.abc import Callable

from ....edm import Ticks
from ...account import Engine
from ...blobs import Blobs
from ...containers import Containers
from ...parameters import invalid_parameter
from ...refusal import Refusal
from ..access import Need, Owner, Permit
from ..address import Address
from ..call import Call
from ..message import Request
from ..supported import BLOB_SUPPORT
from .routing import UNKNOWN, locate


class BlobCall(Call):
    """A request to the Blob service.

    :param authorize: finds out what the sender of a request may do
    :param target: what it is about, once its URL is read
    """

    __slots__ = ("authorize", "target")

    service = "Blob"
    support = BLOB_SUPPORT

    def __init__(
        self,
        engine: Engine,
        request: Request,
        id: str,  # noqa: A002
        now: Ticks,
        authorize: Callable[[Call], Permit],
    ) -> None:
        super().__init__(engine, request, id, now)
        self.authorize = authorize
        self.target = UNKNOWN

    def locate(self) -> None:
        """Read the URL."""
        self.target = locate(self.request.url, self.engine.account_name)
        self.notes.partition = self.target.blob or None

    def inner(self, request: Request, *, as_owner: bool = False) -> BlobCall:
        """Return the call of a request inside this one, which leaves its notes here.

        :param as_owner: whether the account's key, if this request has it, speaks for one that brings no credential
        :raises Refusal: what is wrong with its URL or with its credential
        """
        call = BlobCall(self.engine, request, self.id, self.now, self.authorize)
        call.locate()
        call.notes = self.notes
        has_own = "authorization" in request.headers or "sig" in call.address.query
        inherits = as_owner and not has_own and isinstance(self.permit, Owner)
        call.permit = self.permit if inherits else self.authorize(call)
        return call

    @property
    def address(self) -> Address:
        """Where it came in."""
        return self.target.address

    @property
    def kind(self) -> str:
        """What its URL names."""
        return self.target.kind

    @property
    def resource(self) -> str:
        """The container that it is about."""
        return self.target.container

    @property
    def blobs(self) -> Blobs:
        """The state that the operations work on."""
        self.reach_state()
        return self.engine.blobs

    @property
    def containers(self) -> Containers:
        """The state that the operations on containers work on."""
        return self.blobs.containers

    @property
    def settings(self) -> Blobs:
        """The state of the service."""
        return self.blobs

    @property
    def place(self) -> tuple[str, str]:
        """The container and the blob that it is about."""
        return self.target.container, self.target.blob

    @property
    def snapshot(self) -> Ticks | None:
        """The moment of the snapshot that it is about, None for the blob itself.

        :raises Refusal: InvalidQueryParameterValue
        """
        text = self.address.query.get("snapshot")
        try:
            return Ticks.parse(text) if text else None
        except ValueError as error:
            raise invalid_parameter("snapshot", text) from error

    def allow(self, need: Need) -> None:
        """Refuse an operation unless the sender may carry it out on this container, or on this blob in it."""
        self.permit.check(need, "/".join(self.place) if self.target.blob else self.target.container)

    def may(self, need: Need) -> bool:
        """Tell whether the sender may carry out another operation here."""
        try:
            self.allow(need)
        except Refusal:
            return False
        return True
