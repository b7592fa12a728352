"""The services of the engine against Azurite's, operation by operation."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from differential.run import Runs
from differential.service import Service

EXAMPLES = {"tables": 2, "queues": 4, "blobs": 4}
"""So many are drawn in some two seconds."""
BOUNDED = settings(
    stateful_step_count=40,
    deadline=None,
    # The same operations in every run, so that a change is judged by what it changed; `make fuzz` draws others
    derandomize=True,
    database=None,
    # Shrinking asks Azurite for minutes, and the last operation tells enough
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


class Noted:
    """Records operations without sending them."""

    def __init__(self) -> None:
        self.operations: list[Any] = []

    def compare(self, operation: Any) -> None:
        self.operations.append(operation)


def drawn(service: Service) -> list[str]:
    noted = Noted()
    factory: Any = lambda: service.machine(noted)  # noqa: E731 - Hypothesis asks for a class, and takes what makes one
    run_state_machine_as_test(factory, settings=settings(BOUNDED, max_examples=3))
    return list(map(repr, noted.operations))


def test_the_engine_answers_random_operations_as_azurite_does(service: Service, runs: Runs) -> None:
    runs.run(settings(BOUNDED, max_examples=EXAMPLES[service.name]))


def test_they_are_the_same_operations_in_every_run(service: Service) -> None:
    first = drawn(service)
    assert first == drawn(service)
    assert len(first) > BOUNDED.stateful_step_count
