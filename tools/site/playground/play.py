"""The functions that the page of the playground calls. Arguments and results are JSON values."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from tablepatterns_engine import Engine
from tablepatterns_explore import Counterexample, Explored, World, explore

from . import chat, employees, iot, log, orders, stock
from .design import Action, Design, Fields
from .process import SEND, Process, decisions_of

DESIGNS = {module.__name__.rpartition(".")[2]: module.DESIGN for module in (employees, orders, iot, chat, log, stock)}
SIDES = ("plain", "patterned")
LEASE = 61
"""Seconds after which the messages of a process that crashed are visible."""
_OWN = ("WriteId", "IntentId", "Members")
_MAX_TEXT = 240
_MAX_STEPS = 40
_METHODS = frozenset({"designs", "choose", "begin", "decide", "read", "work", "advance", "explore", "race_step"})


class Side:
    """An account with one variant of the design."""

    def __init__(self, design: Design, name: str) -> None:
        self.design, self.variant = design, getattr(design, name)
        self.engine = Engine()
        self.process: Process | None = None
        self.answer: dict[str, Any] | None = None
        self._before: set[tuple[str, ...]] = set()

    async def prepare(self) -> None:
        """Create the tables, and store the samples."""
        await self.run("prepare", {})
        await self.run(*self.design.sample)
        self.mark()

    def begin(self, method: str, fields: Fields, title: str = "") -> Process:
        """Start a process that calls a method of the variant, before its first request."""

        def work(storage: Any) -> Any:
            variant = self.variant(storage)
            return variant.worker.run_once() if method == "worker" else getattr(variant, method)(**fields)

        return Process(method, title or call_of(method, fields), self.engine, work)

    async def run(self, method: str, fields: Fields) -> Process:
        """Run a process to its end."""
        process = self.begin(method, fields)
        await process.finish()
        return process

    async def close(self) -> None:
        """End the process."""
        if self.process is not None:
            await self.process.close()

    def mark(self) -> None:
        """Remember what is stored now: only later changes are shown as new."""
        self._before = {self._version(table, row) for table in self._stored() for row in table["rows"]}

    def state(self) -> dict[str, Any]:
        """Return the state that the page shows."""
        stored = list(self._stored())
        for table in stored:
            for row in table["rows"]:
                row["isNew"] = self._version(table, row) not in self._before
        process = self.process
        result = process and {
            "title": process.title,
            "state": process.state,
            "pending": process.pending,
            "events": list(process.events),
            "result": process.result if process.state == "raised" else self._idle_worker(),
        }
        problems = list(self.design.problems(self.engine))
        is_waiting = process is not None and process.pending is not None
        repair = self._repair() if problems and self.design.has_worker and not is_waiting else None
        return {"stored": stored, "problems": problems, "repair": repair, "process": result, "answer": self.answer}

    def _idle_worker(self) -> str | None:
        """Say why a worker has returned without doing anything, if this is what happened."""
        process = self.process
        if process is None or process.name != "worker" or process.state != "returned" or process.result.handled:
            return None
        if any(self._messages()):
            return "The worker received nothing: the message is hidden while the process that sent it may still run."
        return "The worker received nothing: there is no message."

    def _repair(self) -> str:
        """Say what will repair the account."""
        messages = list(self._messages())
        if not messages:
            return "There is no message, so nothing will repair this."
        if any(is_visible for _, is_visible in messages):
            return "A worker repairs this: a message names the rows, and is visible."
        return f"A worker repairs this: a message names the rows, and becomes visible within {LEASE - 1} seconds."

    def _messages(self) -> Iterator[tuple[str, bool]]:
        """Yield the queue of each message, and whether it is visible."""
        for queue in self.engine.queues.page()[0]:
            visible = len(self.engine.queues.peek(queue.name, 32))
            for number in range(self.engine.queues.count(queue.name)):
                yield queue.name, number < visible

    @staticmethod
    def _version(table: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, ...]:
        return table["name"], row["partition"], row["key"], row["properties"]

    def _stored(self) -> Iterable[dict[str, Any]]:
        engine = self.engine
        for table in engine.tables.names()[0]:
            rows = [
                _row(each.partition_key, each.row_key, _properties(each.properties))
                for each in engine.tables.query(table).entities
            ]
            unit = "row" if len(rows) == 1 else "rows"
            yield {"name": table, "count": len(rows), "unit": unit, "isTable": True, "rows": rows}
        for queue, messages in groupby(self._messages(), itemgetter(0)):
            rows = [_row("", "message", "visible" if is_visible else "hidden") for _, is_visible in messages]
            unit = "message" if len(rows) == 1 else "messages"
            yield {"name": f"Queue {queue}", "count": len(rows), "unit": unit, "isTable": False, "rows": rows}


class Playground:
    """Both variants of the chosen design."""

    def __init__(self) -> None:
        self.design: Design = employees.DESIGN
        self.sides: dict[str, Side] = {}
        self.passed = 0
        self._races: dict[str, SteppedRace] = {}

    async def answer(self, question: str) -> str:
        """Call a method, both as JSON: its name and arguments, and what it returns."""
        method, arguments = json.loads(question)
        # It may come from a link that another person wrote
        if method not in _METHODS:
            raise ValueError(f"the playground has no method {method!r}")
        found = getattr(self, method)(*arguments)
        return json.dumps(await found if inspect.isawaitable(found) else found)

    def designs(self) -> list[dict[str, Any]]:
        """Return the designs to choose from."""
        return [
            {
                "name": name,
                "title": each.title,
                "text": each.text,
                "pattern": each.pattern,
                "page": each.page,
                "writes": [_shown(action) for action in each.writes],
                "reads": [_shown(action) for action in each.reads],
                "hasWorker": each.has_worker,
                "race": each.race.text,
                "code": {side: inspect.getsource(getattr(each, side)) for side in SIDES},
            }
            for name, each in DESIGNS.items()
        ]

    async def choose(self, name: str) -> dict[str, Any]:
        """Start with a design and two new accounts."""
        await self.close()
        self.design, self.passed, self._races = DESIGNS[name], 0, {}
        self.sides = {side: Side(self.design, side) for side in SIDES}
        for side in self.sides.values():
            await side.prepare()
        return self.state()

    async def begin(self, method: str, fields: Fields) -> dict[str, Any]:
        """Start a write in both accounts; each waits before its first request."""
        self._check(method, self.design.writes)
        for side in self.sides.values():
            await side.close()
            side.mark()
            side.answer = None
            side.process = side.begin(method, fields)
            await side.process.wait()
        return self.state()

    async def decide(self, side: str, decision: str) -> dict[str, Any]:
        """Continue one process: send, lose, kill, or finish."""
        process = self.sides[side].process
        assert process is not None  # noqa: S101 - the page has no button without one
        await (process.finish() if decision == "finish" else process.decide(decision))
        return self.state()

    async def read(self, method: str, fields: Fields) -> dict[str, Any]:
        """Run a query in both accounts, and show what it returns and costs."""
        self._check(method, self.design.reads)
        for side in self.sides.values():
            before = len(side.engine.ledger.records)
            process = await side.run(method, fields)
            sent = list(side.engine.ledger.records)[before:]
            kinds = sorted({str(each.query_class) for each in sent if each.query_class is not None})
            cost = f"{len(sent)} {'request' if len(sent) == 1 else 'requests'}{': ' if kinds else ''}{', '.join(kinds)}"
            answer = "nothing" if process.result in (None, {}, []) else _text(process.result)
            side.answer = {"call": call_of(method, fields), "text": answer, "cost": cost}
        return self.state()

    @staticmethod
    def _check(method: str, actions: Iterable[Action]) -> None:
        if method not in {action.method for action in actions}:
            raise ValueError(f"the design has no method {method!r}")

    async def work(self) -> dict[str, Any]:
        """Start a worker in the account that has one; it waits before its first request."""
        side = self.sides["patterned"]
        await side.close()
        side.mark()
        side.process = side.begin("worker", {}, "A worker")
        await side.process.wait()
        return self.state()

    async def advance(self, seconds: float) -> dict[str, Any]:
        """Move the clocks of both accounts."""
        self.passed += int(seconds)
        for side in self.sides.values():
            side.engine.clock.advance(seconds)
        return self.state()

    async def explore(self, side: str) -> dict[str, Any]:
        """Explore one variant, and return what the explorer finds, and how many requests there are to step through.

        These are of the schedule that fails; if none does, of the order that failed for the other variant.
        """
        try:
            found = _explore(self.design, side)
        except Counterexample as error:
            race = SteppedRace(self.design, side, decisions_of(error.schedule))
            text, is_consistent = str(error).partition("\n")[0].partition(": ")[2], False
        else:
            failed = next(iter(self._races.values()), None)
            race = await failed.with_variant(side) if failed else SteppedRace(self.design, side, [])
            count = f"{'all ' if found.exhaustive else ''}{found.schedules + found.pruned} schedules"
            text, is_consistent = f"Consistent in {count} with at most one preemption.", True
        self._races[side] = race
        return {"text": text, "isConsistent": is_consistent, "steps": len(race.steps)}

    async def race_step(self, side: str, number: int) -> dict[str, Any]:
        """Show the schedule of a variant after this many steps."""
        return await self._races[side].after(number)

    def state(self) -> dict[str, Any]:
        """Return the state of the page."""
        return {"passed": self.passed, "sides": {name: side.state() for name, side in self.sides.items()}}

    async def close(self) -> None:
        """End all processes."""
        for side in self.sides.values():
            await side.close()


_PLAYGROUND = Playground()


async def answer(question: str) -> str:
    """Call a method of the page's playground, as `Playground.answer` does."""
    return await _PLAYGROUND.answer(question)


class SteppedRace:
    """A schedule, stepped request by request."""

    def __init__(self, design: Design, side: str, steps: list[tuple[str, str]]) -> None:
        self._design, self._side, self.steps = design, side, steps

    async def with_variant(self, name: str) -> SteppedRace:
        """Return the same order of processes with another variant, to the end of each."""
        side = Side(self._design, name)
        await side.prepare()
        actors = self._begin(side)
        steps = list[tuple[str, str]]()
        try:
            for process in actors.values():
                await process.wait()
            for actor, decision in [*self.steps, *((name, SEND) for name in actors for _ in range(_MAX_STEPS))]:
                if actors[actor].pending is not None:
                    steps.append((actor, decision))
                    await actors[actor].decide(decision)
        finally:
            for process in actors.values():
                await process.close()
        return SteppedRace(self._design, name, steps)

    def _begin(self, side: Side) -> dict[str, Process]:
        return {name: side.begin(method, fields, name) for name, (method, fields) in self._design.race.actors.items()}

    async def after(self, number: int) -> dict[str, Any]:
        """Return what is stored after this many steps, and what each process has sent."""
        side = Side(self._design, self._side)
        await side.prepare()
        actors = self._begin(side)
        events: list[dict[str, Any]] = []
        try:
            for actor, decision in self.steps[:number]:
                side.mark()
                process = actors[actor]
                await process.decide(decision)
                events = [*events, {"who": actor, **process.events[-1]}]
            is_over = number == len(self.steps)
            for process in actors.values():
                await process.wait()
                if is_over:
                    await process.finish()
            state = side.state()
            waiting = {name: process.pending or process.state for name, process in actors.items()}
            following = None if is_over else self.steps[number][0]
            return {"number": number, "events": events, "waiting": waiting, "next": following, **state}
        finally:
            for process in actors.values():
                await process.close()


def _explore(design: Design, side: str) -> Explored:
    race, made = design.race, getattr(design, side)

    def make(world: World) -> dict[str, Any]:
        variant = made(world.storage)
        world.run(variant.prepare())
        method, fields = design.sample
        world.run(getattr(variant, method)(**fields))
        return {name: getattr(made(world.storage), method)(**fields) for name, (method, fields) in race.actors.items()}

    def is_consistent(world: World) -> None:
        variant = made(world.storage)
        if hasattr(variant, "worker"):
            for queue in world.engine.queues.page()[0]:
                while world.engine.queues.count(queue.name):
                    world.run(world.storage.sleep(LEASE))
                    world.run(variant.worker.run_once())
        problem = next(iter(design.problems(world.engine)), None)
        if problem is not None:
            raise AssertionError(problem)

    return explore(
        make,
        invariant=is_consistent,
        expected=Exception,
        lost_responses=race.lost_responses,
        preemptions=1,
    )


def call_of(method: str, fields: Fields) -> str:
    """Return a call as it is written.

    >>> call_of("find", {"OrderId": 1})
    'find(OrderId=1)'
    """
    return f"{method}({', '.join(f'{name}={value!r}' for name, value in fields.items())})"


def _shown(action: Action) -> dict[str, Any]:
    return {"method": action.method, "label": action.label, "fields": dict(action.fields)}


def _row(partition: str, key: str, properties: str) -> dict[str, Any]:
    return {"partition": partition, "key": key, "properties": properties, "kind": None}


def _properties(properties: Mapping[str, Any]) -> str:
    shown = [f"{name}={_text(value)}" for name, value in properties.items() if name not in _OWN]
    return ", ".join([*shown, *(["reserved"] if "IntentId" in properties else [])])


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{_properties(value)}}}"
    text = str(int(value)) if isinstance(value, int) else str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
