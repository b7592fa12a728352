"""Give clients without the account key temporary access to some rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any, Final, TypeAlias

from azure.core.credentials import AzureSasCredential
from azure.data.tables import TableAccessPolicy

from ..argument_types import checked
from ..edm import key_order, ordinal
from ..entity import check_key
from ..entity_set.derived import Derived, Index
from ..entity_set.entity_set import EntitySet
from ..errors import BadDesign, BadInput, LimitExceeded
from ..key import Key, KeyRange, after_prefix
from ..key.formats import FORBIDDEN
from ..key.template import Template
from ..limits import MAX_ACCESS_POLICIES
from ..recipe import Account, Account_co, Pattern, keeps_key_order, recipe
from ..sdk.table import Table
from .index_entities import IndexEntity
from .summary import Summary

_LAST: Final = "\uffff"
"""Sorts after every other character, so a prefix with it is above every other text with that prefix."""
_FIRST: Final = " "
"""Sorts before every other character that a key may contain."""


@dataclass(frozen=True)
class KeyScope:
    """A range of keys, both ends included, in the order of the table: by PartitionKey, then by RowKey.

    >>> sales = KeyScope("Sales", "Sales")
    >>> sales.contains("Sales", "empid_000223"), sales.contains("Marketing", "empid_000001")
    (True, False)

    None is an open end. `first_row` and `last_row` limit the first and the last partition only; the partitions in
    between are included completely.

    :param first_partition: the first PartitionKey
    :param last_partition: the last PartitionKey
    :param first_row: the first RowKey of the first partition
    :param last_row: the last RowKey of the last partition
    :raises BadInput: there is a row without its partition, or the ends are in the wrong order
    :raises BadKey: an end contains a character that is not allowed in keys

    Guide: shared access signatures (ranges of PartitionKey and RowKey).
    """

    first_partition: str | None = None
    last_partition: str | None = None
    first_row: str | None = None
    last_row: str | None = None

    def __post_init__(self) -> None:
        for end in ("first", "last"):
            partition, row = getattr(self, f"{end}_partition"), getattr(self, f"{end}_row")
            if row is not None and partition is None:
                raise BadInput(f"{end}_row", row, "a range of rows needs its partition", f"give {end}_partition too")
            for name, value in ((f"{end}_partition", partition), (f"{end}_row", row)):
                if value == "":
                    # The SDK omits an empty bound, so the signature would cover the whole table
                    raise BadInput(name, value, "an empty text cannot be an end", "leave it out for an open end")
                if value is not None:
                    check_key("RowKey" if name.endswith("row") else "PartitionKey", value)
        if None not in (self.first_partition, self.last_partition) and self._first > self._last:
            raise BadInput("scope", self, "its first key sorts after its last", "swap the two")

    @classmethod
    @checked
    def of(cls, rows: KeyRange) -> KeyScope:
        """Return the scope of a range of rows of one partition.

        An end that is outside the range is moved to the nearest key inside it. Keys in which U+FFFF follows such an end
        are left out, although the range includes them.
        """
        row_keys = rows.row_keys
        lower, upper = row_keys.lower or None, row_keys.upper
        if not row_keys.lower_inclusive:
            lower = row_keys.lower + _FIRST
        if upper is not None and not row_keys.upper_inclusive:
            upper = _before(upper)
        return cls(rows.partition_key, rows.partition_key, lower, upper)

    @property
    def is_whole_table(self) -> bool:
        """Whether it covers the whole table."""
        return self == KeyScope()

    @property
    def splits_partitions(self) -> bool:
        """Whether it covers only some rows of a partition."""
        return self.first_row is not None or self.last_row is not None

    @checked
    def contains(self, partition_key: str, row_key: str) -> bool:
        """Return whether a signature with this scope covers the row with these keys."""
        keys = key_order((partition_key, row_key))
        after_first = self.first_partition is None or keys >= self._first
        if self.last_partition is None:
            return after_first
        if self.last_row is None:
            return after_first and keys[0] <= ordinal(self.last_partition)
        return after_first and keys <= self._last

    @checked
    def may_contain(self, key: Key) -> bool:
        """Return whether a row with such a key could be in the scope, by the literal prefix of the RowKey."""
        partitions = Template.of("PartitionKey", key.partition_template, key.max_units)
        first, last = self.first_partition, self.last_partition
        if first is None or first != last:
            return _touches(partitions, first, last)
        if not Key(key.partition_template, "", max_units=key.max_units).matches(first, ""):
            return False
        return _touches(Template.of("RowKey", key.row_template, key.max_units), self.first_row, self.last_row)

    @property
    def _first(self) -> tuple[str, str]:
        return key_order((self.first_partition or "", self.first_row or ""))

    @property
    def _last(self) -> tuple[str, str]:
        row = _LAST if self.last_row is None else self.last_row
        return key_order((self.last_partition or "", row))


def _touches(template: Template, first: str | None, last: str | None) -> bool:
    head = template.head
    end = after_prefix(head) if template.fields else head + _FIRST
    begins_in_time = last is None or ordinal(head) <= ordinal(last)
    return begins_in_time and (first is None or end is None or ordinal(first) < ordinal(end))


def _before(text: str) -> str:
    """Return an end below a text that includes all keys before it, except those with U+FFFF."""
    previous = _previous(text[-1])
    while previous >= _FIRST and FORBIDDEN.match(previous):
        previous = _previous(previous)
    return text[:-1] + (previous + _LAST if previous >= _FIRST else "")


def _previous(character: str) -> str:
    """Return the previous character in UTF-16 order, where surrogate pairs are between U+D7FF and U+E000."""
    return {"\U00010000": "\ud7ff", "\ue000": "\U0010ffff"}.get(character) or chr(ord(character) - 1)


AnySet: TypeAlias = EntitySet[Account, Any]

_LETTERS: Final = "raud"
_WRITES: Final = frozenset("aud")
_MAX_POLICY_NAME: Final = 64
_SHORTEST: Final = timedelta(seconds=2)
"""The shortest lifetime. A token ends at a whole second, so a shorter one might have less than a quarter left."""


@checked
def grant(
    account: Account,
    subject: AnySet | str,
    permissions: str | None = "r",
    *,
    expires: timedelta,
    within: Mapping[str, object] | KeyScope | None = None,
    excluding: Iterable[AnySet] = (),
    policy: str | None = None,
) -> Grant:
    """Create a shared access signature for some rows of a table; no request is made.

    Use it to let a client read its own entities directly from the table, such as an app on a phone. A signature covers
    a range of keys, so make the user the PartitionKey, or the beginning of the RowKey.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> notes = EntitySet(storage, "Notes", Key("{User}", "{Note:06d}"))
    >>> for user in ("ann", "bob"):
    ...     _ = notes.insert({"User": user, "Note": 1, "Text": f"by {user}"})
    >>> mine = grant(storage, notes, "r", within={"User": "ann"}, expires=timedelta(hours=1))
    >>> phone = EntitySet(connect(storage.engine, credential=mine.credential), "Notes", notes.key)
    >>> [note["Text"] for note in phone.scan()]
    ['by ann']

    The range is exactly that of `EntitySet.range`; keys in which U+FFFF follows the end of a prefix are left out. A
    client that may write can put any row in the range. A token cannot be revoked unless you name a `policy`: let it
    expire soon. No repr shows a token. More: docs/patterns/grant.md.

    Cost: no storage transaction.

    :param account: the account, connected with its key
    :param subject: a set, or a table's name
    :param permissions: letters of `raud`: to read, add, update and delete; None to use those of the policy.
        Insert-or-replace and insert-or-merge need `a` and `u`
    :param expires: the lifetime of a token: two seconds or more, since it ends at a whole second
    :param within: which rows: the fields of a partition, for all its rows; fields of rows too, as `EntitySet.range`
        takes them; or a `KeyScope`. None for the whole table
    :param excluding: other sets that have rows in the table
    :param policy: the name of a stored access policy, which can be revoked; see `AccessPolicies`
    :raises BadInput: there is no such permission or time
    :raises BadKey: the fields do not make a range
    :raises BadDesign: the range may include other rows, or derived data could not be kept consistent; or the account
        was connected without its key, or does not sort by key

    Guide: shared access signatures.
    """
    letters = _letters_of(permissions, policy)
    _check_time(expires, account.now())
    scope = _scope(subject, within)
    if not (scope.is_whole_table or keeps_key_order(account)):
        rule = "the Cosmos DB Table API does not support ranges of keys"
        raise BadDesign("within", within, rule, "grant the whole table, or use Azure Table storage")
    if not isinstance(subject, str):
        # A policy's permissions may change later, so assume all of them
        _check_own(subject, scope, _LETTERS if letters is None else letters)
    for excluded_set in excluding:
        _check_other(subject, scope, excluded_set)
    table = account.table(subject if isinstance(subject, str) else subject.table.name)
    sign = partial(
        table.signed,
        permission=letters,
        policy_id=policy,
        protocol="https" if table.service_address.startswith("https:") else "https,http",
        start_pk=scope.first_partition,
        start_rk=scope.first_row,
        end_pk=scope.last_partition,
        end_rk=scope.last_row,
    )
    return Grant(account, table, expires, sign, f"{f'policy {policy}' if letters is None else letters} {scope}")


class Grant:
    """Temporary access to some rows of a table, held by the process with the account key; created by `grant`.

    A token is reused until three quarters of its lifetime are over. Threads may share the object.

    Guide: shared access signatures (generating and delivering cost something).
    """

    def __init__(
        self, account: Account, table: Table, lifetime: timedelta, sign: Callable[..., str], description: str
    ) -> None:
        self._account = account
        self._table = table
        self._lifetime = lifetime
        self._sign = sign
        self._description = description
        self._current_token = self._new()

    @property
    def token(self) -> str:
        """The signature to give to a client. It is a secret."""
        return self._valid_token()[0]

    @property
    def expires_at(self) -> datetime:
        """When the current token expires, in UTC."""
        return self._valid_token()[1]

    @property
    def address(self) -> str:
        """The URL of the account's Table service. It is not a secret."""
        return self._table.service_address

    @property
    def url(self) -> str:
        """The URL with the token, which gives access to anyone who has it. It is a secret."""
        return f"{self.address}?{self.token}"

    @property
    def credential(self) -> AzureSasCredential:
        """A credential for `connect` and the SDK's clients in this process, which renews itself."""
        return _Renewing(self)

    def renew(self) -> None:
        """Make a new token now; earlier tokens stay valid until they expire."""
        self._current_token = self._new()

    def _new(self) -> tuple[str, datetime]:
        expiry = (self._account.now() + self._lifetime).replace(microsecond=0)
        return self._sign(expiry=expiry), expiry

    def _valid_token(self) -> tuple[str, datetime]:
        if self._current_token[1] - self._account.now() < self._lifetime / 4:
            self.renew()
        return self._current_token

    def __repr__(self) -> str:
        return f"<Grant {self._table.name} {self._description}>"


class _Renewing(AzureSasCredential):
    """Give the SDK's clients the grant's current token for each request."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        super().__init__(grant.token)

    @property
    def signature(self) -> str:
        return self._grant.token


class AccessPolicies(Pattern[Account_co]):
    """Stored access policies of a table, with which you can revoke tokens that clients already have.

    Use them if a token may have to end early, such as when a phone is lost. A table has up to five policies.

    >>> from tablepatterns import connect
    >>> storage = connect()
    >>> policies = AccessPolicies(storage, "Notes")
    >>> policies.put("phones", "r")
    >>> phone = grant(storage, "Notes", None, policy="phones", expires=timedelta(days=30))
    >>> policies.revoke("phones")
    True

    Consistency: the service may take 30 seconds to apply a change. If two programs change policies at the same time,
    the service keeps the last list, so the other's change is lost, even if it was a revocation.

    Cost: 2 storage transactions to put or revoke; 2 more if the table must be created; `names` is 1.

    :param account: the account, connected with its key
    :param table: the table's name; the first policy creates it

    Guide: shared access signatures.
    """

    @checked
    def __init__(self, account: Account_co, table: str) -> None:
        super().__init__(account)
        self.table = account.table(table)

    @recipe
    async def put(self, name: str, permissions: str) -> None:
        """Create a policy, or change its permissions. Cost: 2 transactions; 2 more if the table must be created.

        :param name: the name that grants use, 1 to 64 characters
        :param permissions: letters of `raud`
        :raises BadInput: the name or the permissions are invalid
        :raises LimitExceeded: the table has five others
        """
        if not 1 <= len(name) <= _MAX_POLICY_NAME:
            raise BadInput("name", name, f"a policy name has 1 to {_MAX_POLICY_NAME} characters", "shorten it")
        letters = _letters_of(permissions, None)
        policies = {**await self.table.policies(), name: TableAccessPolicy(permission=letters)}
        if len(policies) > MAX_ACCESS_POLICIES:
            rule = f"a table has at most {MAX_ACCESS_POLICIES} stored access policies"
            raise LimitExceeded("policies", sorted(policies), rule, "revoke one, or give several grants one policy")
        await self.table.put_policies(policies)

    @recipe
    async def revoke(self, name: str) -> bool:
        """End all tokens of a policy; return False if there is no such policy. Cost: 2 transactions."""
        policies = await self.table.policies()
        if name not in policies:
            return False
        del policies[name]
        await self.table.put_policies(policies)
        return True

    @recipe
    async def names(self) -> list[str]:
        """Return the names of the table's policies. Cost: 1 transaction."""
        return sorted(await self.table.policies())


def _letters_of(permissions: str | None, policy: str | None) -> str | None:
    """Return the letters in the order that the service requires."""
    if permissions is None and policy is not None:
        return None
    if not permissions or not set(permissions) <= set(_LETTERS) or policy is not None:
        rule = f"it is letters of {_LETTERS!r}, or None with a policy"
        raise BadInput("permissions", permissions, rule, "use 'r' to read")
    return "".join(letter for letter in _LETTERS if letter in permissions)


def _check_time(expires: timedelta, now: datetime) -> None:
    if expires < _SHORTEST:
        rule = "a token ends at a whole second, so a shorter one could expire immediately"
        raise BadInput("expires", expires, rule, f"use at least {_SHORTEST}")
    if expires > datetime.max.replace(tzinfo=timezone.utc) - now:
        raise BadInput("expires", expires, "it would end after the year 9999", "use a shorter time")


def _scope(subject: AnySet | str, within: Mapping[str, object] | KeyScope | None) -> KeyScope:
    if within is None or isinstance(within, KeyScope):
        return within or KeyScope()
    if isinstance(subject, str):
        raise BadInput("within", within, "fields need an entity set, not a table name", "pass the set, or a KeyScope")
    rows = subject.key.range(within)
    if set(within) <= set(subject.key.partition_fields):
        # Include what is derived in the partition, so that the client can write it too
        return KeyScope(rows.partition_key, rows.partition_key)
    return KeyScope.of(rows)


def _check_own(subject: AnySet, scope: KeyScope, letters: str) -> None:
    """Reject a range that contains rows derived from other entities, or whose client could not update derived rows."""
    writes = bool(_WRITES.intersection(letters))
    for derived in subject.derived:
        follows_others = derived.is_eventual or scope.splits_partitions
        if writes and follows_others:
            rule = "its rows are outside the granted range, so the client could not keep them consistent"
            raise BadDesign("derived", derived.name, rule, "grant 'r' only, and write through your own service")
        if follows_others and not scope.is_whole_table and _is_in(derived, subject, subject.table.name):
            _check_outside(derived.name, _keys_of(derived, subject), scope)


def _check_other(subject: AnySet | str, scope: KeyScope, excluded_set: AnySet) -> None:
    """Reject a range that could contain rows of another set of the same table."""
    name = subject if isinstance(subject, str) else subject.table.name
    if excluded_set.table.name.lower() == name.lower():
        _check_outside("the excluded set", excluded_set.key, scope)
    for derived in excluded_set.derived:
        if _is_in(derived, excluded_set, name):
            _check_outside(derived.name, _keys_of(derived, excluded_set), scope)


def _check_outside(subject: str, key: Key | None, scope: KeyScope) -> None:
    if key is None or scope.may_contain(key):
        rule = f"its rows could be in the granted range, {scope}"
        raise BadDesign(subject, key, rule, "give each client's rows a PartitionKey or a RowKey prefix of their own")


def _is_in(derived: Derived, subject: AnySet, table: str) -> bool:
    return derived.placement.store_name(subject.table.name) == ("table", table.lower())


def _keys_of(derived: Derived, subject: AnySet) -> Key | None:
    if isinstance(derived, Index):
        return derived.key
    if isinstance(derived, IndexEntity):
        return derived.layout(subject.key)
    return derived.layout if isinstance(derived, Summary) else None
