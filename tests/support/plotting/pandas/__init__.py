"""As much of pandas as notebook 01 uses: it stands in where Pyodide's distribution cannot be reached."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections import namedtuple
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


class _Mask(list[bool]):
    def __and__(self, other: _Mask) -> _Mask:
        return _Mask(one and two for one, two in zip(self, other, strict=True))


class _Column(list[Any]):
    def __eq__(self, value: object) -> Any:
        return _Mask(each == value for each in self)


class DataFrame:
    """Rows by the names of their columns, or anything that is only shown."""

    def __init__(self, rows: Iterable[Any], index: Iterable[str] = ()) -> None:
        self._rows = list(rows)

    def __getattr__(self, name: str) -> _Column:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Column(_value(row[name]) for row in self._rows)

    def __getitem__(self, chosen: Any) -> DataFrame:
        if isinstance(chosen, _Mask):
            return DataFrame(row for row, is_chosen in zip(self._rows, chosen, strict=True) if is_chosen)
        return self

    def itertuples(self) -> Iterator[Any]:
        row_type = namedtuple("row_type", self._rows[0])  # type: ignore[misc]
        return (row_type(*map(_value, row.values())) for row in self._rows)

    def _repr_html_(self) -> str:
        return f"<p>{len(self._rows)} rows</p>"

    def astype(self, dtype: str) -> DataFrame:
        return self


def isna(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def read_csv(path: Path) -> DataFrame:
    with zipfile.ZipFile(path) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    return DataFrame(csv.DictReader(io.StringIO(text)))


def _value(text: str) -> Any:
    """Return a number if the text is one, as it is read: converting all of a year's flights takes minutes."""
    if text in ("", "NA"):
        return math.nan
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return float(text)
    return text
