"""Run actors that share a storage account in every order of their requests, with crashes and lost responses.

See "Exploring schedules" in the documentation.
"""

from .explore import Counterexample, explore, replay
from .search import Explored
from .world import World

__all__ = ["Counterexample", "Explored", "World", "explore", "replay"]
