"""The types of what a set takes beside its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from ..errors import UnrecognizedEntity

Upgrade: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Takes the stored fields of one version, and returns those of the next."""
OnUnrecognized: TypeAlias = Literal["raise", "skip"] | Callable[[UnrecognizedEntity], object]
"""What to do with an entity that does not fit the model: raise, skip it, or call a function and skip it."""
