"""Create the actors of a scenario, as often as needed."""

from __future__ import annotations

from collections import defaultdict

from .code import Code, Unrepeatable, Unstarted
from .execution import Executions
from .scenario import Scenario
from .shared_objects import SharedObjects
from .snapshot import Saved
from .world import World


class ActorGroup:
    """The actors of a scenario in one world, whose account is emptied, and the state of the account before they begin.

    :param keeps_histories: whether what an actor did before it ended matters, besides the account and its result
    """

    def __init__(self, scenario: Scenario, world: World, *, keeps_histories: bool = True) -> None:
        self.keeps_histories = keeps_histories
        self.scenario = scenario
        self.world = world
        self._unstarted: defaultdict[str, list[Unstarted]] = defaultdict(list)
        names = self._create_actors()
        self.start: Saved = self.world.snapshots.save()
        self.records = tuple(self.world.ledger.records)
        """The requests that were sent to create them."""
        self.executions = Executions(world)
        self.checked_states: set[object] = set()
        """The states for which a check is known to hold."""
        self.codes = [Code(name, self.world, self._new_coroutine) for name in names]

    @property
    def shares_objects(self) -> bool:
        """Whether actors share something besides the account, and have changed it."""
        return any(code.shares_objects for code in self.codes)

    @property
    def reorderings(self) -> int:
        """How often turns of independent calls led to the same place in another order for the first time."""
        return sum(code.reorderings for code in self.codes)

    def close(self) -> None:
        """End all coroutines, so that none of their code runs later."""
        for code in self.codes:
            code.close()
        for coroutines in self._unstarted.values():
            for coroutine, _ in coroutines:
                coroutine.close()

    def _new_coroutine(self, name: str) -> Unstarted:
        """Return an unstarted coroutine of an actor; if none is left, create all actors again."""
        if not self._unstarted[name]:
            snapshots = self.world.snapshots
            current_state = snapshots.current
            names = self._create_actors()
            is_same = snapshots.save().digest == self.start.digest
            snapshots.go_to(current_state)
            if not is_same or names != [code.name for code in self.codes]:
                raise Unrepeatable
        return self._unstarted[name].pop()

    def _create_actors(self) -> list[str]:
        self.world.empty()
        self.world.turn_to("make")
        coroutines = self.scenario.actors(self.world)
        if self.world.has_prepared:
            # They may know what the ones made later, without these requests, cannot know
            for coroutine in coroutines.values():
                coroutine.close()
            return self._create_actors()
        shared = SharedObjects((self.scenario.invariant, self.scenario.always), coroutines.values())
        for name, coroutine in coroutines.items():
            self._unstarted[name].append((coroutine, shared))
        return list(coroutines)
