"""Codec: how the values of one type are stored, as a property of their own or as a part of a JSON text."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Misfit(ValueError):
    """A value that is not of its field's type; whoever knows the field, or the row, makes an error of it.

    :param value: the value, or the part of it that does not fit
    :param rule: the rule that it breaks
    :param way_out: what to do instead
    :param path: where in the field the part is
    """

    def __init__(self, value: object, rule: str, way_out: str, path: str = "") -> None:
        super().__init__(rule)
        self.value = value
        self.rule = rule
        self.way_out = way_out
        self.path = path

    def under(self, step: str) -> Misfit:
        """Return the same of the value that holds this one, under a name or a position."""
        between = "" if not self.path or self.path.startswith("[") else "."
        return Misfit(self.value, self.rule, self.way_out, f"{step}{between}{self.path}")


class Codec(ABC):
    """One type of a field. What is encoded decodes to an equal value; anything else is a `Misfit`, both ways."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The type's name, as errors use it."""

    @abstractmethod
    def encode(self, value: object) -> object:
        """Return the value as a property."""

    @abstractmethod
    def decode(self, stored: object) -> object:
        """Return the value of a property."""

    def to_json(self, value: object) -> object:
        """Return the value as a part of JSON: unless told otherwise, what the property would be."""
        return self.encode(value)

    def from_json(self, part: object) -> object:
        """Return the value of a part of JSON."""
        return self.decode(part)

    def misfit(self, value: object, way_out: str = "convert it, or change the field's type") -> Misfit:
        """Return what is wrong with a value of another type."""
        return Misfit(value, f"the field wants {self.name}", way_out)
