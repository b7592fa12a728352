"""World: the account that the actors of one schedule share, its time, and how each of them ended."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timezone
from typing import Any, Final, TypeVar

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables.aio import TableClient

from ...edm import Ticks
from ...engine.account import Engine
from ...engine.clock import SECOND
from .account import SteppedStorage, SteppedTransport
from .actor import Actor, Died
from .advance import Ended, advance
from .chance import Chance
from .digest import digest_of, of_engine
from .points import Call, Sleep
from .stamps import Stamps

T = TypeVar("T")

START: Final = datetime(2014, 8, 22, tzinfo=timezone.utc)
"""When every schedule begins."""


class World:
    """What the actors of one schedule share: an account in memory, whose requests and whose time the schedule steps.

    Recipes take `storage`. Code on the SDK's aio clients takes `table_client`, or makes any client with `transport`.
    Every schedule has a world of its own.

    :param chance: where the random numbers of the schedule come from
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._acting: Actor | None = None
        self.actors: Sequence[Actor] = ()
        self.stamps = Stamps(START)
        self.turn_to("make")
        self.engine = Engine(clock=self.stamps)
        """The account's state, to be looked at without a request."""
        self.credential = AzureNamedKeyCredential(self.engine.account_name, self.engine.account_key)
        self.transport = SteppedTransport(self)
        """For SDK clients that `table_client` does not give; they take `credential` too."""
        self.storage = SteppedStorage(self)
        """The account for recipes; its `tables` is the SDK's aio service client."""

    # -- what users ask for

    def table_client(self, name: str, **options: Any) -> TableClient:
        """Return the SDK's aio client of a table.

        :param options: keyword options of the client, such as `retry_total`
        """
        given: dict[str, Any] = {"credential": self.credential, "transport": self.transport} | options
        return TableClient(self.storage.target.urls["table"], name, **given)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine at once, before the actors begin, or to look at what they left; no schedule interrupts it.

        Where it waits for a moment, the clock moves.
        """
        reached = advance(coroutine)
        while not isinstance(reached, Ended):
            point = reached[0]
            if isinstance(point, Call):
                point.settle(point.carry_out())
            elif isinstance(point, Sleep):
                self.pass_until(point.until)
            reached = advance(coroutine, point)
        return reached.value

    @property
    def returned(self) -> dict[str, Any]:
        """What the actors returned that came to their end, by name."""
        return {actor.name: actor.result for actor in self.actors if actor.state == "returned"}

    @property
    def raised(self) -> dict[str, Exception]:
        """What the actors raised that ended with an error, by name."""
        return {actor.name: actor.error for actor in self.actors if actor.error is not None}

    @property
    def died(self) -> set[str]:
        """The names of the actors that died."""
        return {actor.name for actor in self.actors if actor.state == "died"}

    # -- what the account asks for

    async def call(self, request: Any, send: Callable[[], Any]) -> Any:
        """Wait until the schedule lets a request be sent, and return the answer that it lets the sender have."""
        self._check_alive()
        return await Call(request, send, self.stamps.now())

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved by so many seconds."""
        self._check_alive()
        await Sleep(Ticks(self.stamps.now() + round(seconds * SECOND)))

    def now(self) -> datetime:
        """Return the time; who asks has learned something."""
        now = self.stamps.now()
        if self._acting is not None:
            self._acting.learn(now)
        return now.datetime()

    def _check_alive(self) -> None:
        if self._acting is not None and self._acting.state == "died":
            raise Died

    # -- what the schedule does

    def turn_to(self, who: str, actor: Actor | None = None) -> None:
        """Let all that happens from now on be the doing of this one."""
        self._acting = actor
        self._chance.turn_to(who)
        self.stamps.turn_to(who)

    def pass_until(self, moment: Ticks) -> None:
        """Move the clock to a moment, if that is not past."""
        self.stamps.advance(max(0, moment - self.stamps.now()) / SECOND)

    def digest(self) -> bytes:
        """Return the digest of the account and of the positions of all actors."""
        return digest_of(of_engine(self.engine, self.stamps), [actor.position() for actor in self.actors])
