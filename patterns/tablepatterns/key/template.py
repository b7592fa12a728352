"""A template of a PartitionKey or RowKey: literal text and fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from string import Formatter
from typing import Final

from ..edm import ordinal, utf16_length
from ..errors import MISSING, BadDesign, BadKey, message_of
from .formats import FORBIDDEN, Format, format_of
from .ranges import Between, KeyRange, Prefix, after_prefix
from .template_language import Automaton, Characters

_FIELDS: Final = "write fields as {Name} or {Name:format}"
_DATE: Final = re.compile("%[YmdHMSf]")


@dataclass(frozen=True)
class Field:
    """A field of a template, with the literal text up to the next one."""

    format: Format
    tail: str

    @cached_property
    def name(self) -> str:
        return self.format.name

    @cached_property
    def _may_run_on(self) -> bool:
        """Whether a text could contain, or run into, the separator before the next field."""
        return self.format.width is None and bool(self.tail)

    @property
    def sorts(self) -> bool:
        """Whether keys sort by this field; plain text followed by a literal mixes with what follows."""
        return self.format.width is not None or bool(self.format.terminator) or not self.tail

    def write(self, value: object) -> str:
        """Return the value's text with its tail, or raise BadKey."""
        if value is None:
            raise BadKey(self.name, value, "a key field cannot be None", "give it a value")
        try:
            text = self.format.write(value)
        except BadKey as error:
            kind = type(value)
            if issubclass(kind, (str, bytes)) or not issubclass(kind, (Prefix, Between, Collection)):
                raise
            hint = "make a call for each value, or read a range of row keys with between() or prefix()"
            raise BadKey(self.name, value, error.rule, hint) from None
        if self._may_run_on and (text + self.tail).find(self.tail) != len(text):
            raise self.format.refusal(value, *self._separator_rule())
        return text + self.tail

    def write_prefix(self, text: object) -> str:
        """Return the common prefix of the keys with this prefix, or raise BadKey."""
        if self.format.width is not None:
            raise self.format.refusal(text, "only text has prefixes", "use between(), at_least() or below()")
        prefix = self.format.write(text)
        reaches = any(prefix.endswith(self.tail[:n]) for n in range(1, len(self.tail)))
        if self.tail and (reaches or self.tail in prefix):
            raise self.format.refusal(text, *self._separator_rule())
        return prefix

    def read(self, text: str, start: int) -> tuple[object, int]:
        """Return the value that starts here, and the start of the next field; ValueError if it does not match."""
        form, tail = self.format, self.tail
        if form.width is not None:
            end = start + form.width
        else:
            end = text.find(tail, start) if tail else len(text)
        if end < 0:
            raise ValueError(f"{tail!r} is missing")
        value = form.read(text[start:end])
        next_start = end + len(tail)
        if form.reads_exactly:
            is_ours = next_start <= len(text) and text.startswith(tail, end)
        else:
            is_ours = self.write(value) == text[start:next_start]
        if not is_ours:
            raise ValueError(f"{text[start:]!r} is not a valid {self.name}")
        return value, next_start

    def add_to(self, language: Automaton) -> None:
        """Add the texts of the field, with its tail, to those that a template can write."""
        characters = self.format.characters
        if not isinstance(characters, Characters):
            language.add_fixed(characters)
            language.add_literal(self.tail)
        elif self.tail and not self.format.terminator:
            language.add_text_until(characters, self.tail)
        else:
            # The terminator of an escaped text never occurs in it
            language.add_text(characters)
            language.add_literal(self.tail)

    def _separator_rule(self) -> tuple[str, str]:
        rule = f"it contains, or runs into, the separator {self.tail!r} that follows it"
        return rule, f"use the format {{{self.name}:escape}} or another value"


@dataclass(frozen=True)
class Template:
    """One half of a key: its literal beginning and its fields."""

    half: str
    text: str
    head: str
    fields: tuple[Field, ...]
    max_units: int

    @classmethod
    def of(cls, half: str, text: str, max_units: int) -> Template:
        literals, formats = _split(half, text)
        if FORBIDDEN.search("".join(literals)):
            rule = "its literal text contains a character that is forbidden in keys"
            raise BadDesign(half, text, rule, "use another character")
        if _DATE.search("".join(literals)):
            raise BadDesign(half, text, "its literal text looks like the format of a date", "write {Day:%Y-%m-%d}")
        head, *tails = literals
        fields = [_field(form, tail, last=form is formats[-1]) for form, tail in zip(formats, tails, strict=True)]
        return cls(half, text, head, tuple(fields), max_units)

    @cached_property
    def language(self) -> Automaton:
        """The texts that this template can write."""
        automaton = Automaton()
        automaton.add_literal(self.head)
        for field in self.fields:
            field.add_to(automaton)
        return automaton

    def write(self, values: Mapping[str, object]) -> str:
        text = self.head
        for field in self.fields:
            if field.name not in values:
                raise BadKey(field.name, MISSING, "the key needs this field", "give it a value")
            text += field.write(values[field.name])
        return text if len(text) <= self.max_units and text.isascii() else self._check_size(text)

    def read(self, key: str) -> dict[str, object]:
        if len(key) > self.max_units or not key.isascii():
            self._check_size(key)
        values: dict[str, object] = {}
        position = len(self.head)
        try:
            if not key.startswith(self.head):
                raise ValueError(f"it does not begin with {self.head!r}")
            for field in self.fields:
                values[field.name], position = field.read(key, position)
            if position != len(key):
                raise ValueError(f"{key[position:]!r} is left over")
        except ValueError as error:
            rule = f"it is not a key of {self.text!r} ({message_of(error)})"
            raise BadKey(self.half, key, rule, "parse a key with the template that formatted it") from error
        return values

    def _check_size(self, key: str) -> str:
        if utf16_length(key) > self.max_units:
            rule = f"a key has at most {self.max_units} UTF-16 code units, and this one has {utf16_length(key)}"
            raise BadKey(self.half, key, rule, "shorten its values")
        return key


def _split(half: str, text: str) -> tuple[list[str], list[Format]]:
    """Return the literals and the formats between them; there is always one literal more, which may be empty."""
    literals = [""]
    formats: list[Format] = []
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise BadDesign(half, text, f"it is not a valid template: {error}", _FIELDS) from error
    for literal, name, spec, conversion in pieces:
        literals[-1] += literal
        if name is None:
            continue
        if conversion or not name.isidentifier():
            raise BadDesign(half, text, f"{name!r} is not a valid property name", _FIELDS)
        formats.append(format_of(name, spec or ""))
        literals.append("")
    return literals, formats


def _field(form: Format, literal: str, *, last: bool) -> Field:
    if last and not literal:
        return Field(form, "")
    if not (literal or form.terminator or form.width):
        rule, hint = "the end of the text cannot be determined", "put literal text between them"
        raise BadDesign(f"the separator after {{{form.name}}}", literal, rule, f"{hint}, or use {{{form.name}:escape}}")
    return Field(form, form.terminator + literal)


def field_range(partition_key: str, row_prefix: str, field: Field, question: Between, *, last: bool) -> KeyRange:
    """Return the rows whose RowKeys begin with known text and continue with values of a field in a range.

    :param last: whether no field follows
    """
    if not field.sorts:
        rule = f"keys do not sort by a text field that is followed by {field.tail!r}"
        raise BadKey(field.name, question, rule, f"use the format {{{field.name}:escape}}, or make it the last field")
    if field.format.descending:
        question = question.reversed()
    texts = [row_prefix + field.write(end) for end in (question.low, question.high) if end is not None]
    if texts != sorted(texts, key=ordinal):
        raise BadKey(field.name, question, "its lower bound is above its upper bound", "swap the two")
    row_keys = KeyRange.beginning_with(partition_key, row_prefix).row_keys
    # If more fields follow, a value has several rows: to exclude or to include it, the range begins or ends after all
    if question.low is not None:
        is_first = last or question.low_inclusive
        lower = texts[0] if is_first else after_prefix(texts[0]) or ""
        row_keys = replace(row_keys, lower=lower, lower_inclusive=question.low_inclusive or not is_first)
    if question.high is not None:
        is_end = last or not question.high_inclusive
        upper = texts[-1] if is_end else after_prefix(texts[-1])
        row_keys = replace(row_keys, upper=upper, upper_inclusive=question.high_inclusive and is_end)
    return KeyRange(partition_key, row_keys)
