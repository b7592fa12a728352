"""Bucket: in which of so many parts an entity belongs, by a hash of its key that is the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from string import Formatter

from ..errors import BadDesign
from ..key import Key


class Buckets:
    """So many buckets, and the fields of the key whose values say in which one an entity is.

    The number of the bucket is SHA-256 of the values' texts, as they are in the key, in UTF-8 with a NUL between them;
    of which the first eight bytes, as a big-endian number, modulo the number of buckets. Programs in other languages
    can work it out.

    >>> key = Key("{Service}", "{At:ticks}_{EventId:06d}")
    >>> Buckets(key, 16, ["EventId"]).of({"EventId": 223})
    8

    :param key: the key of the entities
    :param count: how many buckets
    :param by: the fields
    :raises BadDesign: there is no bucket, or a field is none of the key's
    """

    def __init__(self, key: Key, count: int, by: Sequence[str]) -> None:
        if count < 1:
            raise BadDesign("buckets", count, "there must be at least one", "give 2 or more")
        if not by:
            raise BadDesign("by", by, "nothing says in which bucket an entity is", "name fields of the key")
        formats = _formats(key)
        for name in by:
            if name not in formats:
                rule = f"only fields of the key tell where an entity is: {', '.join(key.fields)}"
                raise BadDesign("by", name, rule, "name some of them")
        self.count = count
        self.by = tuple(by)
        self._texts = {name: Key(formats[name], "", max_units=key.max_units) for name in by}

    def of(self, fields: Mapping[str, object]) -> int:
        """Return the number of the bucket, from 0.

        :raises BadKey: a field is missing, or has a value that cannot be a part of the key
        """
        texts = (self._texts[name].format({name: fields.get(name)})[0] for name in self.by)
        digest = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count


def _formats(key: Key) -> dict[str, str]:
    """Return the template of each field by itself."""
    pieces = chain.from_iterable(map(Formatter().parse, (key.partition_template, key.row_template)))
    return {name: f"{{{name}:{spec}}}" if spec else f"{{{name}}}" for _, name, spec, _ in pieces if name}
