"""Explore: queues and blobs are stepped like tables."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tablepatterns_explore import Counterexample, World, explore, replay


async def prepare(world: World) -> None:
    await world.storage.queues.create_queue("work")
    await world.storage.blobs.create_container("photos")


def actors(*codes: Callable[[World], Coroutine[Any, Any, Any]]) -> Callable[[World], list[Coroutine[Any, Any, Any]]]:
    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        world.run(prepare(world))
        return [code(world) for code in codes]

    return make


def upload(name: str, text: str) -> Callable[[World], Coroutine[Any, Any, Any]]:
    async def act(world: World) -> None:
        await world.storage.blobs.get_blob_client("photos", name).upload_blob(text.encode(), overwrite=True)

    return act


async def send(world: World) -> None:
    await world.storage.queues.get_queue_client("work").send_message("4711")


async def work(world: World) -> list[int]:
    """Receive what there is, and delete it; return how often each message was received."""
    queue = world.storage.queues.get_queue_client("work")
    done = []
    async for message in queue.receive_messages(visibility_timeout=30):
        done.append(message.dequeue_count)
        await queue.delete_message(message)
    return done


def messages(world: World) -> int:
    return world.engine.queues.count("work")


def test_uploads_that_have_nothing_to_do_with_one_another_lead_to_one_state() -> None:
    assert explore(actors(upload("a", "x"), upload("b", "x"))).states == 4
    assert explore(actors(upload("a", "x"), upload("a", "y"))).states > 4


def test_a_message_whose_answer_is_lost_is_sent_twice_by_the_sdk() -> None:
    with pytest.raises(Counterexample) as caught:
        explore(actors(send), invariant=lambda world: messages(world) == 1, lost_responses=1)
    assert caught.value.schedule == "A? A"
    assert messages(replay(actors(send), caught.value.schedule)) == 2


def test_the_jitter_of_the_sdks_back_off_is_the_same_each_time() -> None:
    assert explore(actors(send, send), lost_responses=1) == explore(actors(send, send), lost_responses=1)


def test_after_any_crash_a_message_is_done_or_still_there() -> None:
    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        made = actors(work, work)(world)
        world.run(send(world))
        return made

    def done_or_there(world: World) -> bool:
        return messages(world) + sum(len(done) for done in world.returned.values()) + len(world.crashed) >= 1

    assert explore(make, invariant=done_or_there, crashes=1).exhaustive


def test_a_message_of_a_crashed_receiver_is_delivered_again_after_a_stall() -> None:
    def make(world: World) -> list[Coroutine[Any, Any, Any]]:
        made = actors(work, work)(world)
        world.run(send(world))
        return made

    assert replay(make, "A+! >31").returned == {"B": [2]}
    assert replay(make, "A+! >29").returned == {"B": []}
