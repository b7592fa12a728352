"""Parse `$filter` as the Table service does: six comparisons, `and`, `or`, `not`, brackets and typed literals.

The parser has its own stacks of operands and operators, so nested brackets do not use Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Final, NamedTuple, TypeAlias, cast
from uuid import UUID

from ..argument_types import checked
from ..edm import Int64, Ticks
from ..errors import BadFilter, message_of
from ..limits import INT32_MAX, INT32_MIN
from .expression import OPERATORS, And, Comparison, Constant, Filter, Not, Operator, Or, Value, check_name

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<bracket>[()])
      | (?P<prefix>[^\s()']*)'(?P<content>[^']*(?:''[^']*)*)'(?=[\s()]|\Z)
      | (?P<word>[^\s()']+)
    )""",
    re.VERBOSE,
)
_INTEGER: Final = re.compile(r"-?[0-9]+L?")
_DOUBLE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")
_GUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_PRECEDENCE: Final = {"(": 0, "or": 1, "and": 2, "not": 3} | dict.fromkeys(OPERATORS, 4)
_ARITHMETIC: Final = frozenset({"add", "sub", "mul", "div", "mod"})
_MIRRORED: Final = {"eq": "eq", "ne": "ne", "gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}


_COMPARE: Final = "compare one property with one constant; filter the rest in Python"


class FilterSyntaxError(BadFilter):
    """A text is not a filter; `position` is the end of the invalid token, `rule` the text of the service."""

    def __init__(self, text: str, position: int, hint: str) -> None:
        self.position = position
        super().__init__("$filter", text, f"Syntax error at position {position} in '{text}'", hint)
        # The rule already contains the text
        self.message = f"$filter: {self.rule}; {hint}"
        self.args = (self.message,)


class UnsupportedFilter(BadFilter):
    """Valid OData that the service does not support: it responds with 501 NotImplemented."""

    def __init__(self, text: str, rule: str, hint: str = _COMPARE) -> None:
        super().__init__("$filter", text, rule, hint)


@checked
def parse(text: str) -> Filter:
    """Parse a filter; a blank text matches every entity.

    A property alone, such as `IsActive`, is false for every entity, as in the service: write `IsActive eq true`.

    >>> parse("RowKey lt 'T' and (PartitionKey eq 'Sales') and 'S' le RowKey")
    parse("RowKey lt 'T' and PartitionKey eq 'Sales' and RowKey ge 'S'")
    >>> parse("aaa bbb ccc")
    Traceback (most recent call last):
        ...
    tablepatterns.filters.grammar.FilterSyntaxError: $filter: Syntax error at position 7 in 'aaa bbb ccc'; \
use eq, ne, gt, ge, lt, le, and, or here

    :param text: the value of `$filter`, decoded
    :raises FilterSyntaxError: the text is not a filter
    :raises UnsupportedFilter: the text is valid OData, but the service responds with 501
    :raises BadFilter: the filter makes more comparisons than the service allows, or compares with null
    """
    return _Parser(text).run() if text.strip() else Constant(True)


class _Name(NamedTuple):
    name: str


class _Literal(NamedTuple):
    value: Value


_Operand: TypeAlias = Filter | _Name | _Literal


@dataclass(frozen=True, slots=True)
class _Token:
    """A bracket, a word or a quoted literal, and its end position."""

    word: str
    end: int
    quoted: _Literal | None = None
    is_call: bool = False


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._operands: list[_Operand] = []
        self._operators: list[_Token] = []
        self._wants_operand = True

    def run(self) -> Filter:
        for token in self._tokens():
            if self._wants_operand:
                self._begin(token)
            else:
                self._continue(token)
        if self._wants_operand:
            raise self._error(len(self._text), "a property or a literal is missing at the end")
        self._reduce(1)
        if self._operators:
            raise self._error(len(self._text), "close the bracket")
        return self._condition(len(self._text))

    def _tokens(self) -> Iterator[_Token]:
        position, end = 0, len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if not match:
                raise self._error(end, "close the quotes, double each quote inside a string, part words with spaces")
            position = match.end()
            yield self._token(match)

    def _token(self, match: re.Match[str]) -> _Token:
        if match["content"] is None:
            word = match["bracket"] or match["word"]
            is_call = match["word"] is not None and self._text.startswith("(", match.end())
            return _Token(word, match.end(), is_call=is_call)
        try:
            return _Token("", match.end(), _Literal(_read_quoted(match["prefix"], match["content"])))
        except ValueError as error:
            raise self._error(match.end(), message_of(error)) from error

    def _begin(self, token: _Token) -> None:
        if token.word in ("(", "not"):
            self._operators.append(token)
            return
        self._operands.append(token.quoted or self._word(token))
        self._wants_operand = False

    def _word(self, token: _Token) -> _Operand:
        word = token.word
        if word in ("true", "false"):
            return _Literal(word == "true")
        if word == "null":
            hint = "a property that is null does not exist, and no comparison matches it"
            raise BadFilter("$filter", self._text, "One of the request inputs is not valid", hint)
        try:
            number = _read_number(word)
            if number is not None:
                return _Literal(number)
            check_name(word)
        except ValueError as error:
            raise self._error(token.end, message_of(error)) from error
        if token.is_call:
            raise UnsupportedFilter(self._text, f"the service has no function {word}()")
        return _Name(word)

    def _continue(self, token: _Token) -> None:
        if token.word == ")":
            self._reduce(1)
            if not self._operators:
                raise self._error(token.end, "open the bracket first")
            self._operators.pop()
        elif token.word in _ARITHMETIC:
            raise UnsupportedFilter(self._text, f"the service has no arithmetic: {token.word}")
        elif token.word in OPERATORS or token.word in ("and", "or"):
            self._reduce(_PRECEDENCE[token.word])
            self._operators.append(token)
            self._wants_operand = True
        else:
            raise self._error(token.end, "use eq, ne, gt, ge, lt, le, and, or here")

    def _reduce(self, precedence: int) -> None:
        """Apply the operators on the stack with at least this precedence."""
        while self._operators and _PRECEDENCE[self._operators[-1].word] >= precedence:
            self._operands.append(self._apply(self._operators.pop()))

    def _apply(self, operator: _Token) -> Filter:
        if operator.word == "not":
            return Not(self._condition(operator.end))
        if operator.word in OPERATORS:
            right, left_operand = self._operands.pop(), self._operands.pop()
            return self._comparison(left_operand, operator.word, right)
        right_term, left_term = self._condition(operator.end), self._condition(operator.end)
        return And(left_term, right_term) if operator.word == "and" else Or(left_term, right_term)

    def _comparison(self, left_operand: _Operand, operator: str, right: _Operand) -> Filter:
        match left_operand, right:
            case _Name(name), _Literal(value):
                return Comparison(name, cast(Operator, operator), value)
            case _Literal(value), _Name(name):
                return Comparison(name, cast(Operator, _MIRRORED[operator]), value)
            case _Name(name), _Name(second):
                rule = f"{second} without quotes is a property, and the service compares a property with a constant"
                raise UnsupportedFilter(self._text, rule, f"write {name} {operator} '{second}' if it is a text")
            case _Literal(), _Literal():
                rule = "both sides are constants, and the service compares a property with a constant"
                raise UnsupportedFilter(self._text, rule, "name a property on one side, without quotes")
            case _:
                rule = "the service compares a property with a constant, and no conditions with one another"
                raise UnsupportedFilter(self._text, rule, "join conditions with and, or and not")

    def _condition(self, position: int) -> Filter:
        """Pop the last operand as a condition; a property alone is false for every entity."""
        match self._operands.pop():
            case Filter() as term:
                return term
            case _Name():
                return Constant(False)
            case _Literal(bool() as value):
                return Constant(value)
            case _:
                raise self._error(position, "compare the literal with a property")

    def _error(self, position: int, hint: str) -> FilterSyntaxError:
        return FilterSyntaxError(self._text, position, hint)


def _read_number(word: str) -> int | float | None:
    """Return the number in an unquoted word, or None if it is not a number; ValueError if it is out of range."""
    if _INTEGER.fullmatch(word):
        number = int(word.removesuffix("L"))
        return number if word[-1] != "L" and INT32_MIN <= number <= INT32_MAX else Int64(number)
    if not _DOUBLE.fullmatch(word):
        return None
    double = float(word)
    if not isfinite(double):
        raise ValueError(f"{word} is beyond the range of a double")
    return double


def _read_quoted(prefix: str, content: str) -> Value:
    """Return the value of a quoted literal; ValueError for an unknown prefix or malformed content."""
    match prefix:
        case "":
            return content.replace("''", "'")
        case "datetime":
            return Ticks.parse(content)
        case "guid" if _GUID.fullmatch(content):
            return UUID(content)
        case "X" | "binary" if _HEX.fullmatch(content):
            return bytes.fromhex(content)
        case _:
            raise ValueError(f"{prefix}'{content}' is not a literal")
