"""Late events tried beside estimates (decision 0018): the events of each estimate and those that came late in its gaps
are a lane by themselves, on which the statement itself runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, concatenate_columns, no_nulls, null_column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.reduced_patterns import undisputed, without
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.event_order import EventOrder, OrderedInput
from foretell.machine.input_group import InputGroup
from foretell.machine.matches.results import ResultBatch
from foretell.plan.compile import PlanCompiler
from foretell.plan.match_plan import InputGroupPlan
from foretell.records import record
from foretell.recover.hidden_patterns import OURS, Variant

#: The attribute by which the events of trials have lanes.
_LANE = f"{OURS}trial"

#: The names of the statements that run: the pattern with all steps; without the lost ones, which may be seen; and
#: without them, where they must not.
_WHOLE, _UNDISPUTED, _DISPUTED = f"{OURS}whole", f"{OURS}undisputed", f"{OURS}disputed"

_Of = Callable[[EventColumns], Column | None]


@record
class Trials:
    """Estimates of one variant and one row of a table: the positions of their events, a row for each, and of each late
    event the number of the estimate that it is tried with and its position among the late ones."""

    positions: Ints
    trial: Ints
    late: Ints

    def __len__(self) -> int:
        return len(self.positions)


@record
class TrialOutcomes:
    """Of each trial whether the events are a `complete` match, with the late ones that are its lost steps (-1 where it
    is not), and whether the estimate stands beside them: if a lost step may be among them, and if not."""

    steps: Ints
    complete: Flags
    undisputed: Flags
    disputed: Flags


@record
class TrialEvents:
    """The events of estimates and late events, with the rows of the table of a FOR EACH statement."""

    buffer: EventBuffer
    late: EventBuffer
    strings: StringDictionary
    tables: Mapping[str, TemplateTable]
    row_id: Scalar


class VariantTrials:
    """The trials of a variant. The plan is compiled with the first ones: most streams never have a late event."""

    def __init__(self, variant: Variant) -> None:
        self._whole, self._lost = variant.scorer.subscription, variant.scorer.lost
        positive = self._whole.positive
        self._present: Ints = np.array([positive.index(step) for step in variant.present], np.int64)
        self._absent: Ints = np.array([n for n, step in enumerate(positive) if step in self._lost], np.int64)
        self._plan: InputGroupPlan | None = None

    @cached_property
    def _statements(self) -> tuple[CheckedSubscription, ...]:
        reduced = replace(self._whole, tree=replace(self._whole.tree, having=None))
        found = [_trial(undisputed(reduced, self._lost), _UNDISPUTED)]
        if self._lost:
            found.append(_trial(self._whole, _WHOLE))
        if len(self._lost) > 1:
            found.append(_trial(without(reduced, self._lost), _DISPUTED))
        return tuple(found)

    def _group(self, events: TrialEvents) -> InputGroup:
        if self._plan is None:
            types = {name: table.types for name, table in events.tables.items()}
            program = CheckedProgram({}, self._statements, {})
            (self._plan,) = PlanCompiler(events.strings.constant).compile(program, types).inputs.values()
        group = InputGroup(self._plan, events.strings)
        for statement in self._plan.statements.values():
            group.add(self._plan, statement, None if statement.table is None else events.tables[statement.table])
            group.stream.needed |= statement.attributes
        return group

    def outcomes(self, trials: Trials, events: TrialEvents) -> TrialOutcomes:
        count, width = trials.positions.shape
        group = self._group(events)
        columns, sources = _in_order(trials, events, group.stream.needed - {_LANE}, self._whole.attributes)
        now = columns.time.values[-1].item() + 2 * (self._whole.within or 0) + 1
        order = np.arange(0, 2 * len(columns), 2, dtype=np.int64).reshape(-1, 1)
        found = group.process([OrderedInput(columns, None, order)], now, EventOrder({}), ends=True)
        steps: Ints = np.full((count, len(self._absent)), -1, np.int64)
        flags = {name: np.zeros(count, np.bool_) for name in (_WHOLE, _UNDISPUTED, _DISPUTED)}
        for results in found:
            bound = sources[_bound(results, events.row_id)]
            whole = results.schema.name == _WHOLE
            own = bound[:, self._present] if whole else bound
            trial = own[:, 0] // width
            fits = (own == np.arange(width) + width * trial[:, None]).all(axis=1) & (trial < count)
            trial, bound = trial[fits], bound[fits]
            flags[results.schema.name][trial] = True
            if whole:
                late = trials.late[bound[:, self._absent] - count * width]
                _, first = np.unique(trial, return_index=True)  # of several ways the first one, by the events' places
                steps[trial[first]] = late[first]
        return TrialOutcomes(steps, flags[_WHOLE], flags[_UNDISPUTED], flags[_DISPUTED])


def _trial(statement: CheckedSubscription, name: str) -> CheckedSubscription:
    """The statement as one of certain matches in the lanes of trials. It returns nothing of them."""
    found = tree.Returned(tree.Literal(True), "found")
    own = replace(statement.tree, name=name, losing=None, after=tree.AfterMatch(), per=(_LANE,), returns=(found,))
    attributes = {**statement.attributes, _LANE: Type.INT}
    return replace(statement, tree=own, attributes=attributes, returns={"found": Type.BOOL}, hidden=True)


def _in_order(
    trials: Trials, events: TrialEvents, names: Iterable[str], types: Mapping[str, Type]
) -> tuple[EventColumns, Ints]:
    """The events of all trials in the order of time, and where each comes from: its number among those of the
    estimates, then among the late ones."""
    count, width = trials.positions.shape
    trial = np.concatenate([np.repeat(np.arange(count), width), trials.trial])
    time = _gathered(trials, events, lambda own: own.time)
    assert time is not None
    by: Ints = np.argsort(time.values, kind="stable")

    def column(of: _Of, kind: Type) -> Column:
        found = _gathered(trials, events, of)
        return null_column(kind, len(by)) if found is None else found.take(by)

    def attribute(name: str) -> Column:
        return column(lambda own: own.attributes.get(name), types.get(name, Type.STRING))

    attributes = {name: attribute(name) for name in names}
    attributes[_LANE] = Column(Type.INT, trial[by], no_nulls(len(by)))
    ordered = EventColumns(
        attributes,
        {**types, _LANE: Type.INT},
        time.take(by),
        column(lambda own: own.start, time.kind),
        column(lambda own: own.stream, Type.STRING),
    )
    return ordered, by


def _gathered(trials: Trials, events: TrialEvents, of: _Of) -> Column | None:
    """A column of the events of estimates and the late ones; None where neither has it."""
    own, late = events.buffer.gather(of, trials.positions.ravel()), events.late.gather(of, trials.late)
    known = own or late
    if known is None:
        return None
    kind = known.kind
    parts = own or null_column(kind, trials.positions.size), late or null_column(kind, len(trials.late))
    return concatenate_columns(list(parts), kind)


def _bound(results: ResultBatch, row_id: Scalar) -> Ints:
    """The places of the events of matches of a row, a column for each step, in the order of the places."""
    matches = results.matches
    assert matches is not None
    places = np.stack([matches.of_step(step, latest=False) for step in range(len(results.schema.steps))], axis=1)
    match, row = results.notification_rows
    own = match[[results.id_of(number) == row_id for number in row.tolist()]]
    places = places[own]
    return places[np.lexsort(places.T[::-1])]
