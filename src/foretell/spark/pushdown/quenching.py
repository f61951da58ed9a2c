"""Which events can matter: the others need not go through the shuffle (DESIGN section 3, quenching).

Under `;` and `;{θ}` an event that no step and no θ can accept is as if it were not there: what it does to time is told
apart. Under `,` it still stands between two others, a negation alone waits for any event, and an event without an ID
is named by its number in the lane, so there every event counts.
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

#: Conditions that must all hold.
ConditionSet = tuple[tree.Expression, ...]


def acceptable(statement: CheckedSubscription, named: Collection[str]) -> tuple[ConditionSet, ...] | None:
    """What an event must satisfy one of to matter; None where any event may. Events of the streams `named` have an ID
    each."""
    found = _conditions(statement)
    return None if why_all_matter(statement, named) is not None else tuple(dict.fromkeys(found.values()))


def why_all_matter(statement: CheckedSubscription, named: Collection[str]) -> str | None:
    """Why any event may matter to a statement; None where not."""
    nodes = list(statement.pattern.walk())
    if statement.tree.forecast is not None:
        return "FORECAST counts every event"
    if any(isinstance(node, tree.Next) or (isinstance(node, tree.Repeat) and node.under is None) for node in nodes):
        return "the very next event is asked for"
    if any(isinstance(node, tree.Numbered) for node in nodes):
        return "events are counted"
    if any(isinstance(node, tree.Silence) for node in nodes):
        return "a negation alone waits for any event"
    unnamed = [str(stream) for stream in statement.tree.streams if str(stream) not in named]
    if unnamed:
        return f"the events of {unnamed[0]} are named by their number, for want of an ID that is never NULL"
    return next((f"{what} takes any event" for what, one in _conditions(statement).items() if not one), None)


def _conditions(statement: CheckedSubscription) -> dict[str, ConditionSet]:
    """The static conditions of each step and each θ."""
    nodes = list(statement.pattern.walk())
    # What leads to a step by `;{θ}` is tried by θ first, so the step itself need not say more.
    led = {name for node in nodes if isinstance(node, tree.SequencePart) for name in _led(node.pattern, node.operator)}
    steps = {f"step {s.name}": _static(s.conditions) for s in statement.steps.values() if s.name not in led}
    thetas = [node.condition for node in nodes if isinstance(node, tree.FirstWhere)]
    return steps | {f"the condition {expression_text(one)}": _static([one]) for one in thetas}


def _led(pattern: tree.Pattern, operator: tree.Operator | None) -> Iterable[str]:
    """The step whose events are all found by `;{θ}`, if it is one."""
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
    return tuple(one for condition in conditions for one in _conjuncts(condition) if is_static(one))


def _conjuncts(condition: tree.Expression) -> Iterable[tree.Expression]:
    match condition:
        case tree.Binary(operator="AND", left=left, right=right):
            return [*_conjuncts(left), *_conjuncts(right)]
    return [condition]


def may_matter(loaded: EventBatch, statements: Sequence[CheckedSubscription], named: Collection[str]) -> Flags | None:
    """Which events of a stream may matter to some of the statements that read it; None where all do."""
    wanted = [one for one in statements if loaded.stream in map(str, one.tree.streams)]
    accepted = [acceptable(one, named) for one in wanted]
    if any(one is None for one in accepted):
        return None
    found = np.zeros(loaded.table.num_rows, np.bool_)
    for statement, some in zip(wanted, accepted):
        holds = _ConditionEvaluator(loaded, statement)
        for together in some or ():
            found |= reduce(np.logical_and, map(holds.true, together))
    return found


class _ConditionEvaluator:
    """The events of a stream as the conditions of a statement see them."""

    def __init__(self, loaded: EventBatch, statement: CheckedSubscription) -> None:
        self._loaded, self._statement = loaded, statement
        self._strings = StringDictionary()
        self._columns: dict[str, Column] = {}

    def true(self, condition: tree.Expression) -> Flags:
        loaded, statement = self._loaded, self._statement
        names = {str(node.name) for node in condition.walk() if isinstance(node, tree.Attribute)}
        columns = {name: self._column(name) for name in names if name in loaded.table.column_names}
        assert loaded.schema.time is not None
        count = loaded.table.num_rows
        stream = Column(Type.STRING, np.full(count, self._strings.code(loaded.stream), np.int64), no_nulls(count))
        time = as_declared(self._column(loaded.schema.time), statement.time)
        return EventColumns(columns, statement.attributes, time, time, stream).truth(condition, self._strings)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            kind = self._loaded.schema.attributes[name]
            self._columns[name] = column_from_arrow(self._loaded.table[name], kind, self._strings)
        return self._columns[name]
