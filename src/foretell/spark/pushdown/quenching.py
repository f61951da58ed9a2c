"""Quenching: events that cannot matter to any statement need not go through the shuffle.

Under `;` and `;{θ}` an event that no step and no θ accepts has no effect but on time, which travels as the stream's
progress. Every event matters under `,`, where it stands between two others; to a negation alone, which waits for any
event; and if events have no ID, since their number in the lane then names them. Tokens name no events, so a correlator
needs no IDs: any event that satisfies none of its steps is dropped (ECL section 2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

import numpy as np

from foretell.arrays import Flags
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Type
from foretell.filter.arrow_conversion import column_from_arrow
from foretell.filter.column import Column, as_declared, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.plan.condition_scope import is_static

#: Conditions that an event must all satisfy.
ConditionSet = tuple[tree.Expression, ...]


def acceptable(statement: CheckedSubscription, identified: Collection[str]) -> tuple[ConditionSet, ...] | None:
    """Return the condition sets of which an event must satisfy one to matter; None if any event may matter.

    Every event of the streams `identified` has an ID.
    """
    if why_all_matter(statement, identified) is not None:
        return None
    return tuple(dict.fromkeys(_conditions(statement).values()))


def why_all_matter(statement: CheckedSubscription, identified: Collection[str]) -> str | None:
    """Return the reason why any event may matter to a statement; None if some cannot."""
    nodes = list(statement.pattern.walk())
    if statement.tree.forecast is not None:
        return "FORECAST counts every event"
    if any(isinstance(node, tree.Next) or (isinstance(node, tree.Repeat) and node.under is None) for node in nodes):
        return "',' needs the very next event"
    if any(isinstance(node, tree.Numbered) for node in nodes):
        return "a step is numbered, and numbers count every event"
    if any(isinstance(node, tree.Silence) for node in nodes):
        return "a negation alone waits for any event"
    numbered = [str(stream) for stream in statement.tree.streams if str(stream) not in identified]
    if numbered and not statement.correlated:
        return f"{numbered[0]} has no ID that is never NULL, so numbers name its events"
    conditions = _conditions(statement)
    if statement.correlated and () in conditions.values():
        return "a step accepts any event"
    return next((f"{name} accepts any event" for name, own in conditions.items() if not own), None)


def _conditions(statement: CheckedSubscription) -> dict[str, ConditionSet]:
    """Return the static conditions of each step and each θ."""
    nodes = list(statement.pattern.walk())
    # θ is tried before the step that `;{θ}` leads to, so the step itself needs no static condition. Where a step is
    # lost the operator may be `;`.
    led = {name for node in nodes if isinstance(node, tree.SequencePart) for name in _led(node.pattern, node.operator)}
    if statement.tree.losing is not None:
        led = set()
    steps = {f"step {s.name}": _static(s.conditions) for s in statement.steps.values() if s.name not in led}
    thetas = [node.condition for node in nodes if isinstance(node, tree.FirstWhere)]
    return steps | {f"the condition {expression_text(theta)}": _static([theta]) for theta in thetas}


def _led(pattern: tree.Pattern, operator: tree.Operator | None) -> Iterable[str]:
    """Return the step whose events `;{θ}` finds, if the pattern is one."""
    if isinstance(operator, tree.FirstWhere):
        match pattern:
            case tree.Step(name=name):
                return [str(name)]
            case tree.Repeat(body=body, under=under) if under is not None:
                return _led(body, under)
            case tree.Conditioned(pattern=inner):
                return _led(inner, operator)
    return []


def _static(conditions: Iterable[tree.Expression]) -> ConditionSet:
    parts = (part for condition in conditions for part in _conjuncts(condition))
    return tuple(part for part in parts if is_static(part) and part != tree.Literal(True))


def _conjuncts(condition: tree.Expression) -> Iterable[tree.Expression]:
    match condition:
        case tree.Binary(operator="AND", left=left, right=right):
            return [*_conjuncts(left), *_conjuncts(right)]
    return [condition]


def may_matter(
    batch: EventBatch, statements: Sequence[CheckedSubscription], identified: Collection[str]
) -> Flags | None:
    """Return which events of a stream may matter to some of the statements; None if all may."""
    readers = [statement for statement in statements if batch.stream in map(str, statement.tree.streams)]
    accepted = [acceptable(statement, identified) for statement in readers]
    if any(condition_sets is None for condition_sets in accepted):
        return None
    matters = np.zeros(batch.table.num_rows, np.bool_)
    for statement, condition_sets in zip(readers, accepted):
        evaluator = _ConditionEvaluator(batch, statement)
        for conditions in condition_sets or ():
            matters |= reduce(np.logical_and, map(evaluator.true, conditions))
    return matters


class _ConditionEvaluator:
    """Evaluates the conditions of a statement on the events of a stream."""

    def __init__(self, batch: EventBatch, statement: CheckedSubscription) -> None:
        self._batch, self._statement = batch, statement
        self._strings = StringDictionary()
        self._columns: dict[str, Column] = {}

    def true(self, condition: tree.Expression) -> Flags:
        batch, statement = self._batch, self._statement
        names = {str(node.name) for node in condition.walk() if isinstance(node, tree.Attribute)}
        columns = {name: self._column(name) for name in names if name in batch.table.column_names}
        assert batch.schema.time is not None
        count = batch.table.num_rows
        stream = Column(Type.STRING, np.full(count, self._strings.code(batch.stream), np.int64), no_nulls(count))
        time = as_declared(self._column(batch.schema.time), statement.time)
        return EventColumns(columns, statement.attributes, time, time, stream).truth(condition, self._strings)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            kind = self._batch.schema.attributes[name]
            self._columns[name] = column_from_arrow(self._batch.table[name], kind, self._strings)
        return self._columns[name]
