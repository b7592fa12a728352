"""All measurements of recipes."""

from __future__ import annotations

from ..data import RecipeScale
from ..environment import environment
from ..results import RecipeResults
from .bulk import traced
from .contention import contention
from .maintenance import maintenance
from .reading import readings
from .runs import measure


def measure_recipes(scale: RecipeScale, azurite: str | None) -> RecipeResults:
    """Measure the recipes; `azurite` is the connection string of an Azurite, None to leave it out."""
    machine = environment()
    loads = list(traced(scale))
    runs = [run for load in loads for run in load.runs()]
    figures = measure([*runs, *readings(scale, azurite), *maintenance(scale)], scale.rounds)
    transactions = {load.name: len(load.calls) for load in loads}
    return RecipeResults(machine, scale, figures, list(contention(scale)), transactions)
