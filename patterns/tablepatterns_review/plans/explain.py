"""Show the plan of a query before it is sent. No request is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, overload

from tablepatterns.argument_types import checked
from tablepatterns.entity_set.derived import Derived, Index, RowLayout
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.internals import mappings_of, primary_layout
from tablepatterns.entity_set.range_query import Question
from tablepatterns.errors import BadInput, BadKey
from tablepatterns.figures import count, counted
from tablepatterns.filters import Comparison, Constant, Filter, QueryClass, classify, parse, prop
from tablepatterns.key import Key
from tablepatterns.key.key import fields_of, via_and_fields
from tablepatterns.key.key_filter import stored_filter
from tablepatterns.limits import PARTITION_ENTITIES_PER_SECOND
from tablepatterns.recipe import Account
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex

from ..design.model import DeclaredSet, Field, FieldType, Match, Query, Shape
from .planner import Way, code_of, known_fields, terms_of, type_of, ways
from .query_plan import COSTS, GUIDE, KEYS, NO_QUERY, OR_RULE, RULES, Better, QueryPlan, properties, reads, rewrites

_BY_OR: Final = "combined by 'or'"


@overload
def explain(what: str | Filter) -> QueryPlan: ...
@overload
def explain(what: EntitySet[Account, Any], shape: Shape | None = None) -> Plans: ...


@checked
def explain(what: str | Filter | EntitySet[Account, Any], shape: Shape | None = None) -> QueryPlan | Plans:
    """Return the plan of a query: its class and why, the rows read, the cost, the guide's rule, and better queries.

    For a set, it returns an object with the set's read methods, which return plans instead of entities. A blank text is
    the query for all entities of the table.

    Guarantees: no request is made, and the class is the one by which `EntitySet.query` rejects scans.

    Limits: it does not know the number of entities. The engine's ledger shows what was read, `Traffic` what was sent.

    Cost: nothing.

    >>> plan = explain("PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')")
    >>> plan.query_class.label, plan.reads
    ('partition scan', "every entity of partition 'Sales'")
    >>> for query in plan.better[0].code:
    ...     print(query)
    PartitionKey eq 'Sales' and RowKey eq '121'
    PartitionKey eq 'Sales' and RowKey eq '322'

    >>> from tablepatterns import EntitySet, IntraPartitionIndex, Key, connect, prop
    >>> by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    >>> employees = EntitySet(
    ...     connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email]
    ... )
    >>> explain(employees).range(by_email, Department="Sales").query_class.label
    'range query'
    >>> slow = (prop("PartitionKey") == "Sales") & (prop("Email") == "jonesj@contoso.com")
    >>> explain(employees).query(slow).better[0].code
    ("find(<email_{Email}>, Department='Sales', Email='jonesj@contoso.com')",)

    :param what: the value of `$filter`, a built filter, or a declared set
    :param shape: what a design knows of the set's entities. Without it, an index that is proposed ends with the primary
        key, as if no field were unique, and its integers have 19 digits
    :raises FilterSyntaxError: the text has a syntax error, at `position`
    :raises UnsupportedFilter: the service does not support the filter
    :raises BadInput: the argument is none of these

    Guide: designing for querying.
    """
    if isinstance(what, EntitySet):
        return Plans(what, shape)
    return _plan(parse(what) if isinstance(what, str) else what)


class Plans:
    """The read methods of a set: called like the set's own, each returns the plan of its query.

    :param entities: the set
    :param shape: what a design knows of its entities
    """

    def __init__(self, entities: EntitySet[Account, Any], shape: Shape | None = None) -> None:
        self._set = entities
        self._shape = shape or Shape("entity", 0, {})

    def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> QueryPlan:
        """Return the plan of `EntitySet.get`.

        :raises BadKey: a field is missing, or its value cannot be part of a key
        """
        return _plan(_point(primary_layout(self._set), fields_of(key, fields)))

    def find(self, via: Index, key: Mapping[str, Any] | None = None, /, **fields: Any) -> QueryPlan:
        """Return the plan of `EntitySet.find`.

        :raises BadKey: a field is missing, or its value cannot be part of a key
        :raises BadInput: the index is not one of the set's
        """
        self._check_own(via)
        return _plan(_point(via.shape(self._set.key), fields_of(key, fields)))

    def get_many(self, keys: Iterable[Mapping[str, Any]]) -> QueryPlan:
        """Return the plan of `EntitySet.get_many`: a point query for each key.

        :raises BadKey: a field is missing, or its value cannot be part of a key
        :raises BadInput: there are no keys
        """
        plans = [self.get(fields) for fields in keys]
        if not plans:
            raise BadInput("keys", [], "it needs at least one key", "give at least one")
        query = plans[0].query if len(plans) == 1 else f"{plans[0].query}, and {count(len(plans) - 1)} more"
        text, cost = f"{counted(len(plans), 'entity')}, each by its keys", f"{len(plans)}: 1 for each key"
        return replace(plans[0], query=query, reads=text, transactions=len(plans), cost=cost)

    def find_all(self, via: IndexEntity, key: Mapping[str, Any] | None = None, /, **fields: Any) -> QueryPlan:
        """Return the plan of `EntitySet.find_all`: the list first, then a point query for each of its keys.

        :raises BadKey: a field is missing, or its value cannot be part of a key
        :raises BadInput: the index entities are not the set's
        """
        self._check_own(via)
        arguments, layout = fields_of(key, fields), RowLayout(via.layout(self._set.key))
        if via.spread > 1:
            plan = _plan(Question.of(layout, None, None, arguments, QueryClass.TABLE_SCAN).filter)
        else:
            plan = _plan(_point(layout, arguments))
        text = "the row that lists the keys, and each entity on it"
        return replace(plan, reads=text, cost="1 for the list, and 1 for each entity found")

    def range(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> QueryPlan:
        """Return the plan of `EntitySet.range`, and so of `page` and `take`.

        :raises BadKey: the fields do not describe a range
        :raises BadFilter: `where` has a property that the rows do not have
        :raises BadInput: the index is not one of the set's
        """
        index, arguments = via_and_fields(via, key, fields)
        if index is not None:
            self._check_own(index)
        layout = primary_layout(self._set) if index is None else index.shape(self._set.key)
        if where is not None:
            mappings_of(self._set).check_filter(where)
        stored = None if select is None else mappings_of(self._set).stored(select)
        return _plan(Question.of(layout, where, stored, arguments, QueryClass.TABLE_SCAN).filter)

    def query(self, where: Filter) -> QueryPlan:
        """Return the plan of `EntitySet.query`, and suggest an index of the set that answers it better.

        :raises BadFilter: the filter names a property that the set stores encoded, or compares a field of the key in a
            way that the key does not allow
        """
        mappings_of(self._set).check_filter(where)
        expression = stored_filter(self._set.key, where)
        return _plan(expression, self._better_calls(expression))

    def scan(self, where: Filter | None = None) -> QueryPlan:
        """Return the plan of `EntitySet.scan`.

        :raises BadFilter: the filter names a property that the set stores encoded
        """
        return self.query(Constant(True) if where is None else where)

    def _check_own(self, via: Derived) -> None:
        if via not in self._set.derived:
            rule = f"the set keeps {[derived.name for derived in self._set.derived]}"
            raise BadInput("derived", via.name, rule, "give one of the set's own, or declare it")

    def _better_calls(self, expression: Filter) -> list[Better]:
        """Return how the set answers a filter with its derived data, or with an index to declare; none if it cannot."""
        terms = [term for term in terms_of(expression) if isinstance(term, Comparison) and term.name != "RowKey"]
        if len(terms) < len(terms_of(expression)) or not properties(expression):
            return []
        entities, shape = self._set, self._shape
        # A property that is compared with an int may be an int64
        types: dict[str, FieldType] = {
            term.name: "int64" if term.kind is int else type_of(term) for term in terms if term.name not in KEYS
        }
        fields = {name: Field(kind, distinct=1) for name, kind in types.items()}
        declared_set = DeclaredSet(
            "entities",
            entities.table.name,
            entities.key,
            replace(shape, fields={**fields, **shape.fields}),
            derived=tuple(entities.derived),
            mappings=mappings_of(entities).mappings,
        )
        values: dict[str, object] = {}
        for term in terms:
            if term.operator == "eq" and term.name == "PartitionKey":
                with suppress(BadKey):
                    values |= Key(entities.key.partition_template, "row").parse(str(term.value), "row")
            elif term.operator == "eq":
                values[term.name] = term.value
        compared = known_fields(declared_set, Query("", filter=str(expression)))
        known: dict[str, Match] = {name: how for name, how in compared.items() if how != "=" or name in values}
        found = ways(declared_set, Query("", known))
        calls = [_call(way, values, expression) for way in found if way.declare is None and _is_served(way, values)]
        return calls or [_declaration(way.declare, way.query_class) for way in found if way.declare is not None][:1]


def _is_served(way: Way, values: Mapping[str, object]) -> bool:
    """Whether derived data answers a query with values that its key can have."""
    if way.via is None or way.key is None or way.is_scan:
        return False
    try:
        way.key.range({name: values[name] for name in way.key_fields if name in values})
    except BadKey:
        return False
    return True


def _call(way: Way, values: Mapping[str, object], expression: Filter) -> Better:
    via = way.via.name if way.via is not None else ""
    arguments = [f"{name}={values[name]!r}" if name in values else f"{name}=between(...)" for name in way.key_fields]
    code = f"{way.method}({', '.join([f'<{via}>', *arguments])})"
    is_list = way.method == "find_all"
    words = "list for this: 1 transaction, and 1 for each entity found" if is_list else "index for this"
    rest = [name for name in properties(expression) if name not in way.key_fields]
    check = f"; check {', '.join(rest)} of what it finds" if rest else ""
    pattern = "index entities pattern" if is_list else None
    return Better(f"the set keeps {'a' if is_list else 'an'} {words}{check}", way.query_class, (code,), pattern)


def _declaration(index: IntraPartitionIndex | InterPartitionIndex, query_class: QueryClass) -> Better:
    place = "inter" if index.is_eventual else "intra"
    words = f"declare an index {index.name}"
    if index.is_eventual:
        words += " in other partitions; it is eventually consistent"
    if not index.key.partition_fields:
        words += f", and its one partition takes {count(PARTITION_ENTITIES_PER_SECOND)} entities a second"
    return Better(words, query_class, (code_of(index),), f"{place}-partition secondary index pattern")


def _plan(expression: Filter, by_set: Sequence[Better] = ()) -> QueryPlan:
    explanation = classify(expression)
    better_keys = rewrites(expression, explanation)
    if by_set and not explanation.bounds.empty:
        better_keys = (*(better_key for better_key in better_keys if better_key.pattern is None), *by_set)
    query_class = explanation.query_class
    return QueryPlan(
        query="" if expression == Constant(True) else str(expression),
        query_class=query_class,
        reason=explanation.reason,
        reads=NO_QUERY if explanation.bounds.empty else reads(explanation, expression),
        transactions=1,
        cost=COSTS[query_class],
        rule=OR_RULE if _BY_OR in explanation.reason else RULES[query_class],
        guide=GUIDE,
        advice=explanation.rewrite,
        better=better_keys,
    )


def _point(shape: RowLayout, fields: Mapping[str, Any]) -> Filter:
    partition, row = shape.key.format(fields)
    return (prop("PartitionKey") == partition) & (prop("RowKey") == row)
