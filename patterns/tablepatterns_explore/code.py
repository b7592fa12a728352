"""The behavior of one actor's code, for every sequence of responses."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tablepatterns.edm import Ticks

from .digest import NO_HISTORY, History, Learner, Place, Strand, digest_of, text_of, value_of
from .request_points import Call, Completion, Point, ResponseOrError, Sleep, advance
from .shared_objects import SharedObjects
from .sync_actor import SyncActor
from .world import World

State: TypeAlias = Literal["running", "returned", "raised", "crashed"]


class Unrepeatable(Exception):
    """An actor behaved differently when its schedule was repeated, so it depends on more than its responses."""


class _Live(NamedTuple):
    """A coroutine, the points where it waits, and the objects that it shares with others."""

    coroutine: Coroutine[Any, Any, Any]
    points: tuple[Point, ...]
    shared: SharedObjects


Turn: TypeAlias = tuple[Strand, int]
"""Which of the concurrent calls continued, and for which time."""
Unstarted: TypeAlias = tuple[Coroutine[Any, Any, Any], SharedObjects]


@dataclass(slots=True, eq=False)
class Node:
    """A place in the code of an actor, after one history of responses.

    :param parent: the previous place; None at the start
    :param point_index: the index of the point that was settled there
    :param response: what the code received there, at this `moment`
    """

    parent: Node | None
    point_index: int
    response: ResponseOrError | None
    moment: Ticks
    history: History = NO_HISTORY
    has_written: bool = False
    """Whether the code wrote to the engine on the way here, without a request."""
    is_response_lost: bool = False
    """Whether the response to one of its requests was lost."""
    state: State = "running"
    points: tuple[Point, ...] = ()
    """Where it waits; several points only if it makes concurrent calls."""
    result: Any = None
    error: Exception | None = None
    children: dict[object, Node] = field(default_factory=dict[object, "Node"])
    live: _Live | None = None
    """A coroutine that waits here, if there is one."""
    _position: bytes | None = None
    _outcome: object = None

    @property
    def before(self) -> Node:
        assert self.parent is not None  # noqa: S101 - only the start has none
        return self.parent

    def position(self) -> bytes:
        """Return the digest of everything that its behavior depends on: what it received, and where it waits."""
        if self._position is None:
            self._position = digest_of(self.state, self.history.position, sorted(map(repr, self.points)))
        return self._position

    def outcome(self) -> object:
        """Return what is visible from outside: that the code is running, or how it ended."""
        if self._outcome is None:
            value = {"returned": self.result, "raised": self.error}.get(self.state)
            self._outcome = self.state, value_of(value)
        return self._outcome

    def strand(self, point_index: int) -> Strand:
        """Return which of the concurrent calls waits at a point."""
        return self.points[point_index].strand if self.points else ()

    def run(self, live: _Live, point: Point | None) -> None:
        try:
            stop = advance(live.coroutine, point)
        except Exception as error:  # noqa: BLE001 - how an actor may end is not decided here
            self.state, self.error = "raised", error
            return
        if isinstance(stop, Completion):
            self.state, self.result = "returned", stop.value
        else:
            self.points = stop
            self.live = live._replace(points=stop)

    def path(self) -> list[Node]:
        """Return the places from the start to here, without the start."""
        nodes: list[Node] = []
        node: Node = self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


class Code:
    """The code of one actor. Each part of it runs once for each history of responses.

    A coroutine cannot be copied. Where a second history begins, another one is made, and receives the same as the first
    up to that place; no request is sent for that.
    """

    def __init__(self, name: str, world: World, new_coroutine: Callable[[str], Unstarted]) -> None:
        self.name = name
        self.start = Node(None, 0, None, Ticks(0))
        self.shares_objects = False
        """Whether the code has changed an object that it shares with others, besides the account."""
        self.reorderings = 0
        """How often turns of independent calls led to the same place in another order for the first time."""
        self._world = world
        self._new_coroutine = new_coroutine
        self._places: dict[Place, Node] = {}
        self._threads: deque[Node] = deque()
        """The places where threads wait, the longest first."""
        self._swapped_turns: set[tuple[Turn, Turn]] = set()

    def node_after(
        self, node: Node, point_index: int = 0, response: ResponseOrError | None = None, *, is_lost: bool = False
    ) -> Node:
        """Return where the code waits after one of its points was settled, or after its start."""
        now = self._world.stamps.now()
        # A request is executed once, and its response kept
        key = point_index, id(response), is_lost, now
        child = node.children.get(key)
        if child is None:
            child = node.children[key] = self._place_of(Node(node, point_index, response, now), is_lost)
        return child

    def close(self) -> None:
        """End the coroutines that wait, so that none of their code runs later."""
        for node in self._places.values():
            self._end_live(node)

    def _place_of(self, child: Node, is_lost: bool) -> Node:
        """Return the place with the history of a child, which is the child itself if there was none."""
        node = child.before
        text = None if child.response is None else text_of(child.response)
        learner = Learner(self.name, node.history)
        learner.receive(node.strand(child.point_index), (text and digest_of(text), is_lost, child.moment))
        # Concurrent calls that are independent reach the same place in every order
        place = self._places.setdefault(learner.place, child)
        if place is child:
            self._run(child, text, learner)
            child.is_response_lost = node.is_response_lost or is_lost
        elif place.parent is not node:
            self._note_orders(place.path(), child.path())
        return place

    def _note_orders(self, before: Sequence[Node], after: Sequence[Node]) -> None:
        """Note in which order turns of concurrent calls led to a place, and in which other order they do now."""
        ranks = {turn: rank for rank, turn in enumerate(_turns(before))}
        pairs = {(first, second) for first, second in combinations(_turns(after), 2) if ranks[first] > ranks[second]}
        self.reorderings += not pairs <= self._swapped_turns
        self._swapped_turns |= pairs

    def _run(self, child: Node, text: str | None, learner: Learner) -> None:
        """Run the code from the place before a child, and store in the child where it waits."""
        node = child.before
        # Where a thread is needed again that is ended here, another one is brought there
        while len(self._threads) > _MAX_THREADS:
            self._end_live(self._threads.popleft())
        live = self._live_at(node)
        if text is not None:
            learner.learn(self._world.stamps.replace_stamps(text), node.strand(child.point_index))
        before = live.shared.state()
        # It may look at the engine
        self._world.snapshots.fill()
        self._resume(child, live, learner)
        child.history = learner.history
        if child.live is not None and isinstance(live.coroutine, SyncActor):
            self._threads.append(child)
        # Code that writes to the engine itself would not do so where it is not run again
        child.has_written = self._world.stamps.has_stamped
        self.shares_objects |= before != live.shared.state() or child.has_written

    def _end_live(self, node: Node) -> None:
        if node.live is not None:
            self._world.close(node.live.coroutine)
            node.live = None

    def _live_at(self, node: Node) -> _Live:
        """Return a coroutine that waits at a place; it is taken from there."""
        live, node.live = node.live, None
        if live is not None:
            return live
        coroutine, shared = self._new_coroutine(self.name)
        live = _Live(coroutine, (), shared)
        now = self._world.stamps.now()
        for place in node.path():
            repeated = Node(place.parent, place.point_index, place.response, place.moment)
            self._world.stamps.move_to(place.moment)
            self._resume(repeated, live, Learner(self.name, place.before.history))
            if repeated.live is None or repr(repeated.points) != repr(place.points):
                self._world.close(live.coroutine)
                raise Unrepeatable
            live = repeated.live
        self._world.stamps.move_to(now)
        return live

    def _resume(self, child: Node, live: _Live, learner: Learner) -> None:
        """Resume a coroutine from the place before a child, and store its new place in the child."""
        point = live.points[child.point_index] if live.points else None
        if point is not None:
            point.settle(child.response)
        self._world.turn_to(learner.turn(), learner)
        child.run(live, point)


def _turns(path: Sequence[Node]) -> list[Turn]:
    times = Counter[Strand]()
    turns: list[Turn] = []
    for node in path:
        strand = node.before.strand(node.point_index)
        turns.append((strand, times[strand]))
        times[strand] += 1
    return turns


_MAX_THREADS: Final = 100
"""How many threads of one actor may wait at a time."""
_MAX_REPR: Final = 40
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
"""Where an object is, in a repr that does not show its value."""


class Actor:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.name = code.name
        self.node = code.start
        self.has_crashed = False

    @property
    def state(self) -> State:
        return "crashed" if self.has_crashed else self.node.state

    @property
    def is_running(self) -> bool:
        return not self.has_crashed and self.node.state == "running"

    @property
    def result(self) -> Any:
        return self.node.result

    @property
    def error(self) -> Exception | None:
        return self.node.error

    @property
    def points(self) -> tuple[Point, ...]:
        return () if self.has_crashed else self.node.points

    @property
    def calls(self) -> list[Call]:
        return [point for point in self.points if isinstance(point, Call)]

    @property
    def sleeps(self) -> list[Sleep]:
        return [point for point in self.points if isinstance(point, Sleep)]

    def label(self, point: Point) -> str:
        """Return the label of a point in schedules: the actor, and which of its concurrent calls it is."""
        return ".".join([self.name, *map(str, point.strand)]) if point.strand else self.name

    def position(self) -> tuple[object, ...]:
        """Return everything that its behavior depends on."""
        # Where it crashed makes no difference any more
        return self.name, self.has_crashed, self.node.history.position if self.has_crashed else self.node.position()

    def outcome(self) -> tuple[object, ...]:
        """Return everything about it that a check can depend on."""
        return self.name, "crashed" if self.has_crashed else self.node.outcome()

    def visible_state(self) -> tuple[object, ...]:
        """Return all that can be told of it: how it ended, or where it waits and what it is about to send."""
        ending = _ADDRESS.sub("", f"{self.result!r} {self.error!r}")
        return self.state, ending, sorted(map(repr, self.points)), sorted(call.content() for call in self.calls)

    def ending(self) -> str:
        if self.state == "returned":
            result = repr(self.result)
            return f"{self.name} returned {result if len(result) <= _MAX_REPR else result[:_MAX_REPR] + '…'}"
        if self.state == "raised":
            return f"{self.name} raised {type(self.error).__name__}"
        return f"{self.name} crashed" if self.has_crashed else f"{self.name} is running"
