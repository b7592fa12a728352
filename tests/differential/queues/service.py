"""The Queue service in the comparison."""

from __future__ import annotations

from conformance.raw_storage import RawQueues
from differential.account import Account
from differential.queues.answers import normal, note_messages
from differential.queues.exclusions import EXCLUSIONS, Queues
from differential.queues.machine import QueuesMachine
from differential.queues.operations import Operation
from differential.queues.strategies import PREFIX
from differential.service import Service
from support.queue_states import everything_in
from tablepatterns_engine.account import Engine


def _empty(account: Account) -> None:
    for queue in account.service.list_queues(name_starts_with=PREFIX):
        account.service.delete_queue(queue.name)


def _all_queues(engine: Engine, operation: Operation) -> Queues:
    queues: Queues = everything_in(engine.queues)[0]
    return queues


QUEUES = Service("queues", RawQueues, QueuesMachine, _empty, _all_queues, normal, note_messages, EXCLUSIONS)
