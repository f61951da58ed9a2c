"""Bounds of FOR EACH tables: the events that no row of a correlator's table can use.

`altitude < :floor` can only hold below the highest floor of all rows. The rows of a batch are known before its events
are read, so such events need not go through the shuffle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.ingest.typed_table import plain_scalars
from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedSubscription
from foretell.language.correlator_events import correlator_events
from foretell.plan.condition_scope import has_parameter
from foretell.plan.template_selection import Comparison, comparison_of

#: More values than this are told by their bounds: a predicate with many takes longer than it saves.
MOST_VALUES = 50

_ORDERED = (Type.INT, Type.FLOAT, Type.TIMESTAMP)


def bounded_subscriptions(
    statements: Iterable[CheckedStatement], tables: Mapping[str, TemplateTable]
) -> list[CheckedSubscription]:
    """Return the statements as subscriptions that read the same events: correlators by those that may move them, for
    some row of the tables that are known."""
    return [_bounded(s, tables) if isinstance(s, CheckedCorrelator) else s for s in statements]


def _bounded(correlator: CheckedCorrelator, tables: Mapping[str, TemplateTable]) -> CheckedSubscription:
    events, table = correlator_events(correlator), tables.get(str(correlator.tree.table))
    if table is None:
        return events
    conditions = {step: tuple(_bounds(own, table)) for step, own in correlator.conditions.items()}
    return replace(events, steps=correlator_events(replace(correlator, conditions=conditions)).steps)


def _bounds(conditions: Iterable[tree.Expression], table: TemplateTable) -> Iterator[tree.Expression]:
    """Yield conditions without parameters that hold wherever the given ones hold for some row."""
    for condition in (part for whole in conditions for part in tree.conjuncts(whole)):
        comparison = comparison_of(condition)
        if comparison is not None and comparison.parameter in table.types:
            yield from _bound(comparison, table)
        elif not has_parameter(condition):
            yield condition


def _bound(comparison: Comparison, table: TemplateTable) -> Iterator[tree.Expression]:
    kind = table.types[comparison.parameter]
    values = set(plain_scalars(table.columns.column(comparison.parameter).drop_null().unique()))
    if not values:  # no comparison with NULL is true
        yield tree.Literal(False)
        return
    if kind is Type.BOOL or any(isinstance(value, float) and math.isnan(value) for value in values):
        return
    value, sign = comparison.expression, comparison.operator
    if sign == "=" and len(values) <= MOST_VALUES:
        yield tree.In(value, tuple(_literal(each, kind) for each in sorted(values, key=_by_size)))
    elif kind in _ORDERED:
        low, high = _literal(min(values, key=_by_size), kind), _literal(max(values, key=_by_size), kind)
        if sign == "=":
            yield tree.Between(value, low, high)
        else:
            yield tree.Binary(sign, value, high if sign in ("<", "<=") else low)


def _by_size(value: Scalar) -> tuple[int | float, str]:
    return (0, value) if isinstance(value, str) else (value or 0, "")


def _literal(value: Scalar, kind: Type) -> tree.Expression:
    return tree.Moment(value) if kind is Type.TIMESTAMP and isinstance(value, int) else tree.Literal(value)
