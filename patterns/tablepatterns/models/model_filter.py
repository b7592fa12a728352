"""Check a filter against a model, and compare what is stored for the values of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ..edm import Ticks
from ..errors import NOT_SHOWN, BadFilter
from ..filters import Filter
from ..filters.expression import And, Comparison, Junction, Not, Or
from ..limits import SYSTEM_PROPERTIES
from .codecs import required
from .scalar_codecs import Codec, DatetimeCodec, EnumCodec, TicksCodec, TypeMismatch


class ModelFilter:
    """Replaces comparisons of a model's fields with comparisons of what is stored for them."""

    def __init__(self, codecs: Mapping[str, Codec], model: str, secret: frozenset[str]) -> None:
        self._codecs = codecs
        self._model = model
        self._secret = secret

    def stored(self, where: Filter) -> Filter:
        match where:
            case Comparison():
                return where if where.name in SYSTEM_PROPERTIES else self._comparison(where)
            case Not(term=term):
                return Not(self.stored(term))
            case Junction(terms=terms):
                return (And if isinstance(where, And) else Or)(*map(self.stored, terms))
            case _:
                return where

    def _comparison(self, comparison: Comparison) -> Comparison:
        codec = self._codecs.get(comparison.name)
        value: Any = NOT_SHOWN if comparison.name in self._secret else comparison.value
        if codec is None:
            near = get_close_matches(comparison.name, self._codecs, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(self._codecs)}"
            raise BadFilter("where", comparison.name, f"{self._model} has no such field", hint)
        codec = required(codec)
        subject = f"{self._model}.{comparison.name}"
        if not codec.is_comparable:
            rule = f"{codec.name} is stored as text, which the service cannot compare by value"
            raise BadFilter(subject, value, rule, "compare the instances that are read")
        if not codec.is_sorted and comparison.operator not in ("eq", "ne"):
            raise BadFilter(subject, value, f"values of {codec.name} have no order", "use == or !=, joined with |")
        try:
            return Comparison(comparison.name, comparison.operator, _stored(codec, comparison.value))
        except TypeMismatch as mismatch:
            raise BadFilter(subject, value, mismatch.rule, mismatch.hint) from None


def _stored(codec: Codec, value: Any) -> Any:
    if isinstance(value, Ticks) and isinstance(codec, (DatetimeCodec, TicksCodec)):
        # A comparison holds a datetime as its ticks
        return value
    if isinstance(codec, EnumCodec):
        # A comparison holds a member that is a str or an int as its value
        return codec.encode(codec.decode(getattr(value, "value", value)))
    return codec.encode(value)
