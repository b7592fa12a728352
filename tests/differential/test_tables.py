"""The Table service of the engine against Azurite's, operation by operation."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from differential.run import Runs

BOUNDED = settings(max_examples=30, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))


def test_the_engine_answers_random_operations_as_azurite_does(runs: Runs) -> None:
    runs.run(BOUNDED)
