"""One statement at work: its lanes, the events it may still speak of, and its subscriptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from foretell.events.read import LoadedTable
from foretell.events.types import Scalar, Type
from foretell.filter.columns import Column, Strings, evaluate
from foretell.filter.predicates import Events, answers
from foretell.filter.selection import Selection
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.choose import Chooser, One, Taker
from foretell.machine.finish import finished
from foretell.machine.history import History, Lanes
from foretell.machine.matches import Matches
from foretell.machine.ordering import Input, Order, deepened
from foretell.machine.stage import Stage
from foretell.machine.told import Told, shown_value
from foretell.plan.program import Program, UnsupportedError, build, selection_of
from foretell.plan.registers import Registers, mapped

Ints = NDArray[np.int64]


@dataclass
class Row:
    """One subscription: of a template, one for each row of its table."""

    parameters: Mapping[str, Column]
    id: Scalar
    stage: Stage | None
    chooser: Chooser
    taker: Taker
    waiting: list[Told] = field(default_factory=list)
    since: dict[int, int | float] = field(default_factory=dict)


class Statement:
    def __init__(self, checked: CheckedSubscription, strings: Strings, table: LoadedTable | None) -> None:
        if checked.tree.losing is not None:
            raise UnsupportedError("LOSING")
        self.checked, self.strings = checked, strings
        self.lanes = Lanes()
        self.keys: list[dict[str, Scalar]] = []
        self.history: History | None = None
        self.positions = 0
        self.program: Program | None = None
        self.row_ids: list[Scalar] = []
        types = {} if table is None else dict(table.types)
        given: Iterable[Mapping[str, Scalar]] = [{}] if table is None else table.rows
        self.selection = None if table is None else self._selection(table)
        if given and not isinstance(checked.pattern, tree.Silence):
            self.program = build(checked, strings.code, types, selected=self.selection is not None)
        if self.selection is not None and table is not None:
            # One machine serves all rows; what each is called is looked up when it matches.
            self.row_ids = [table.rows[i].get("id") for i in self.selection.rows_in_order.tolist()]
            given, types = [{}], {}
        self.rows = [self._row(row, types) for row in given]

    @property
    def name(self) -> str:
        return self.checked.name

    def _selection(self, table: LoadedTable) -> Selection | None:
        """The rows of a template as one, where its parameters allow it."""
        comparisons = None if isinstance(self.checked.pattern, tree.Silence) else selection_of(self.checked)
        if comparisons is None or not table.rows:
            return None
        columns = {n: several_values([r[n] for r in table.rows], k, self.strings) for n, k in table.types.items()}
        kinds = [(Registers(self.checked).event_type(c.expression), table.types[c.parameter]) for c in comparisons]
        if any(c.operator != "=" and Type.STRING in k for c, k in zip(comparisons, kinds, strict=True)):
            return None
        return Selection(comparisons, columns, [Type.FLOAT in k for k in kinds])

    def _row(self, row: Mapping[str, Scalar], types: Mapping[str, Type]) -> Row:
        parameters = {name: several_values([row[name]], kind, self.strings) for name, kind in types.items()}
        steps = self.checked.positive
        shapes = {n: s.shape for n, s in self.checked.steps.items()}
        chosen = tuple((steps.index(n), s.chosen) for n, s in shapes.items() if s.chosen is not None)
        after = self.checked.tree.after
        return Row(
            parameters,
            row.get("id"),
            None
            if self.program is None
            else Stage(self.program, self.strings, parameters=parameters, selection=self.selection),
            Chooser(chosen),
            Taker(after.policy, None if after.step is None else steps.index(after.step)),
        )

    # ── a batch ──

    def feed(self, inputs: list[Input], now: int | float, order: Order) -> list[Told]:
        """What the events of a batch bring, and time until `now`."""
        batch = self._placed(self._merged(inputs))
        self.history = batch if self.history is None else self.history.extended(batch)
        told = []
        for row in self.rows:
            if row.stage is None:
                told.append(self._silent(row, batch, now, order))
            else:
                told.append(self._matched(row, row.stage, batch, now, order))
        self._forget()
        return told

    @property
    def needed(self) -> set[str]:
        """The attributes that the statement speaks of."""
        names = {str(name) for name in self.checked.tree.per}
        for node in self.checked.tree.walk():
            match node:
                case tree.Attribute(name=name) | tree.Aggregate(attribute=str(name)):
                    names.add(str(name))
        return names

    def _merged(self, inputs: list[Input]) -> Input:
        """The streams of FROM as one, in order."""
        checked, needed = self.checked, self.needed
        attributes = {
            name: _stacked([_typed(i.events.attributes.get(name), kind, len(i)) for i in inputs], kind)
            for name, kind in checked.attributes.items()
            if name in needed
        }
        if "stream" in checked.tree.per and not any("stream" in i.events.attributes for i in inputs):
            attributes["stream"] = _stacked([i.events.stream for i in inputs], Type.STRING)
        time = _stacked([_typed(i.events.time, checked.time, len(i)) for i in inputs], checked.time)
        start = _stacked([_typed(i.events.start, checked.time, len(i)) for i in inputs], checked.time)
        stream = _stacked([i.events.stream for i in inputs], Type.STRING)
        depth = max((i.order.shape[1] for i in inputs), default=1)
        order = np.concatenate([np.zeros((0, depth), np.int64), *(deepened(i.order, depth) for i in inputs)])
        names = None
        if any(i.name is not None for i in inputs):
            parts = [i.name if i.name is not None else np.full(len(i), None, object) for i in inputs]
            names = np.concatenate(parts)
        if len(order) < 2 or (order[1:, 0] > order[:-1, 0]).all():
            return Input(Events(attributes, checked.attributes, time, start, stream), names, order)
        # What time completed between the same two events goes by its end.
        by = np.lexsort((*order.T[:0:-1], time.values, order[:, 0]))

        def sorted_(column: Column) -> Column:
            return Column(column.kind, column.values[by], column.nulls[by])

        events = Events(
            {n: sorted_(c) for n, c in attributes.items()},
            checked.attributes,
            sorted_(time),
            sorted_(start),
            sorted_(stream),
        )
        return Input(events, None if names is None else names[by], order[by])

    def _placed(self, merged: Input) -> History:
        known, per = len(self.lanes), self.checked.tree.per
        lane = self.lanes.of(merged.events.attributes, per, len(merged))
        number = self.lanes.count(lane)
        if not per and not self.keys:
            self.keys.append({})
        # Lanes are numbered as they begin, so their first events come in the order of their numbers.
        for at in np.flatnonzero((number == 0) & (lane >= known)).tolist() if per else ():
            self.keys.append({str(n): shown_value(merged.events.attributes[n], at, self.strings) for n in per})
        base = self.positions
        self.positions += len(merged)
        return History(base, merged.events, lane, number, merged.name, merged.order)

    def _forget(self) -> None:
        """Lets go of events that nothing can speak of any more."""
        assert self.history is not None
        if self.program is not None and self.program.leading:
            return
        oldest = [row.stage.oldest for row in self.rows if row.stage is not None]
        oldest += [t.matches.oldest for row in self.rows for t in row.waiting if t.matches is not None]
        self.history = self.history.since(min((o for o in oldest if o is not None), default=self.positions))

    # ── matches ──

    def _matched(self, row: Row, stage: Stage, batch: History, now: int | float, order: Order) -> Told:
        assert self.program is not None
        assert self.history is not None
        found = stage.feed(batch.events, batch.lane, len(self.lanes), batch.base, now)
        matches = Matches.of(self.program, self.history, self.strings, found, stage.nodes, row.parameters)
        told = self._told(row, finished(matches), order)
        if self.selection is not None:
            assert told.matches is not None
            return replace(told, selected=told.matches.rows, row_ids=self.row_ids)
        checked = self.checked
        simple = not row.chooser.choices and not checked.known_late and checked.tree.after.policy is tree.Policy.HOLD
        if simple and not self.program.ambiguous:
            return told
        return self._taken(row, told, now, order)

    def _told(self, row: Row, matches: Matches, order: Order) -> Told:
        places = matches.history.order[matches.last - matches.history.base]
        for i in np.flatnonzero(matches.late).tolist():
            places[i] = -1
            places[i, 0] = order.deadline(matches.end[i].item())
        return Told(
            self.checked,
            matches,
            matches.lane,
            matches.start,
            matches.end,
            places,
            self._returned(matches),
            self.keys,
            row.id,
            self.strings,
        )

    def _returned(self, matches: Matches) -> dict[str, Column]:
        if self.checked.tree.returns:
            return {str(r.name): matches.worth(r.expression) for r in self.checked.tree.returns}
        return {v: matches.worth(tree.Variable(v)) for v in self.checked.variables}

    def _taken(self, row: Row, told: Told, now: int | float, order: Order) -> Told:
        """Those that FIRST, LAST and AFTER MATCH leave."""
        if self._skips_past_last(row):
            by = told.in_order_of_taking()
            if by is not None:
                assert told.matches is not None
                keep = np.zeros(len(told), np.bool_)
                keep[by] = row.taker.past_last(told.lane[by], told.matches.first[by], told.matches.last[by])
                return told.kept(keep)
        if self.checked.known_late:
            told = self._known(row, told, now, order)
        assert told.matches is not None
        rank = self._rank(told.matches.history)
        unique: dict[tuple[int, tuple[tuple[int, int], ...]], One] = {}
        for i in range(len(told)):
            one = One(i, int(told.lane[i]), told.bound(i), told.completion(i), rank)
            unique.setdefault((one.lane, one.bound), one)
        chosen = row.chooser.chosen(list(unique.values()))
        taken = row.taker.taken(sorted(chosen, key=lambda one: one.taking))
        keep = np.zeros(len(told), np.bool_)
        keep[[one.index for one in taken]] = True
        return told.kept(keep)

    def _skips_past_last(self, row: Row) -> bool:
        """The commonest policy alone; with others the matches are taken one by one."""
        assert self.program is not None
        only = not row.chooser.choices and not self.checked.known_late and not self.program.ambiguous
        skips = self.checked.tree.after.policy is tree.Policy.SKIP_PAST_LAST
        return only and skips and not self.checked.simultaneous

    def _known(self, row: Row, told: Told, now: int | float, order: Order) -> Told:
        """With a LAST that nothing follows, what is known by now; the rest waits (decision 0002, item 11)."""
        together = _joined([*row.waiting, told], self.history)
        assert together.matches is not None
        known = np.array([self._known_at(together, i) for i in range(len(together))], np.float64)
        row.waiting = [together.kept(known >= now)]
        at, ready = known[known < now], together.kept(known < now)
        places, end = ready.order.copy(), ready.end.astype(np.float64 if self.checked.time is Type.FLOAT else np.int64)
        for i in np.flatnonzero(np.isfinite(at)).tolist():
            end[i] = at[i]
            places[i] = -1
            places[i, 0] = order.deadline(end[i].item())
        return replace(ready, end=end, order=places)

    def _known_at(self, told: Told, i: int) -> float:
        """When a match is known; -inf where it is known with its last event."""
        assert told.matches is not None
        history, steps, within = told.matches.history, self.checked.positive, self.checked.within
        assert within is not None
        begins = [(history.events.start.values[p - history.base].item(), steps[s]) for p, s in told.bound(i)]
        names = {name for _, name in begins}
        waits = [begins[0][0]] if told.matches.late[i] else []
        for name, settling in self.checked.known_late.items():
            if name in names and not settling & names:
                waits.append(min((start for start, step in begins if step != name), default=math.inf))
        return max(waits) + within if waits else -math.inf

    def _rank(self, history: History) -> Callable[[int], int | float]:
        """What orders events: their positions, or their instants where ties are simultaneous."""
        if not self.checked.simultaneous:
            return lambda position: position
        times, base = history.events.time.values, history.base
        return lambda position: times[position - base].item()

    # ── silence ──

    def _silent(self, row: Row, batch: History, now: int | float, order: Order) -> Told:
        """`!b` alone: no b for so long, since the lane's first event, the latest b or the latest silence."""
        pattern, within = self.checked.pattern, self.checked.within
        assert isinstance(pattern, tree.Silence)
        assert within is not None
        given = {f":{name}": column for name, column in row.parameters.items()}
        steps = [[_with_given(c) for c in self.checked.steps[str(n.step.name)].conditions] for n in pattern.absent]
        events = replace(
            batch.events,
            attributes={**batch.events.attributes, **{n: _repeated(c, len(batch)) for n, c in given.items()}},
            types={**batch.events.types, **{n: c.kind for n, c in given.items()}},
        )
        breaks = np.asarray(answers(steps, events, self.strings).any(axis=0))
        found: list[tuple[int, int | float, int | float]] = []
        times = batch.events.time.values.tolist()
        for lane, time, broken in zip(batch.lane.tolist(), times, breaks.tolist(), strict=True):
            row.since.setdefault(lane, time)
            found += _quiet(lane, row.since, within, time)
            if broken and time > row.since[lane]:
                row.since[lane] = time
        for lane in row.since:
            found += _quiet(lane, row.since, within, now)
        return self._silences(row, found, order)

    def _silences(self, row: Row, found: list[tuple[int, int | float, int | float]], order: Order) -> Told:
        """Silences as results, where HAVING holds. The duration of one is its length."""
        checked = self.checked
        dtype = np.float64 if checked.time is Type.FLOAT else np.int64
        lane = np.array([lane for lane, _, _ in found], np.int64)
        start, end = (np.array([f[k] for f in found], dtype) for k in (1, 2))
        places = np.array([[order.deadline(time)] for time in end.tolist()], np.int64).reshape(-1, 1)
        kind = Type.DURATION if checked.time is Type.TIMESTAMP else checked.time
        columns = {"duration": Column(kind, end - start, np.zeros(len(found), np.bool_))}
        columns |= {f":{name}": _repeated(column, len(found)) for name, column in row.parameters.items()}

        def worth(expression: tree.Expression) -> Column:
            types = {name: column.kind for name, column in columns.items()}
            plain = _with_given(expression)
            return evaluate(plain, columns, columns["duration"], None, self.strings, kind, types)

        returned = {str(r.name): worth(r.expression) for r in checked.tree.returns}
        told = Told(checked, None, lane, start, end, places, returned, self.keys, row.id, self.strings)
        if checked.tree.having is None:
            return told
        truth = worth(checked.tree.having)
        return told.kept(np.asarray((truth.values != 0) & ~truth.nulls))


def _quiet(
    lane: int, since: dict[int, int | float], within: int | float, now: int | float
) -> list[tuple[int, int | float, int | float]]:
    found = []
    while since[lane] + within < now:
        found.append((lane, since[lane], since[lane] + within))
        since[lane] += within
    return found


def _with_given(expression: tree.Expression) -> tree.Expression:
    """An expression with `duration` and the parameters of its row as attributes."""
    match expression:
        case tree.Elapsed():
            return tree.Attribute(tree.This(), "duration")
        case tree.Parameter(name=name):
            return tree.Attribute(tree.This(), f":{name}")
    return mapped(expression, _with_given)


# ── columns ──


def several_values(values: list[Scalar], kind: Type, strings: Strings) -> Column:
    """Values as a column."""
    words = [0 if v is None else strings.code(v) if isinstance(v, str) else v for v in values]
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array(words, dtype), np.array([v is None for v in values], np.bool_))


def _repeated(column: Column, count: int) -> Column:
    zeros = np.zeros(count, np.int64)
    return Column(column.kind, column.values[zeros], column.nulls[zeros])


def _typed(column: Column | None, kind: Type, count: int) -> Column:
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    if column is None:
        return Column(kind, np.zeros(count, dtype), np.ones(count, np.bool_))
    return Column(kind, column.values.astype(dtype, copy=False), column.nulls)


def _stacked(columns: list[Column], kind: Type) -> Column:
    if len(columns) == 1:
        return columns[0]
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(
        kind,
        np.concatenate([np.zeros(0, dtype), *(c.values for c in columns)]),
        np.concatenate([np.zeros(0, np.bool_), *(c.nulls for c in columns)]),
    )


def _joined(parts: list[Told], history: History | None) -> Told:
    """Results of several batches as one, all speaking of the same history."""
    matches = [p.matches for p in parts if p.matches is not None]
    assert history is not None
    return replace(
        parts[-1],
        matches=Matches.joined(matches, history),
        lane=np.concatenate([p.lane for p in parts]),
        start=np.concatenate([p.start for p in parts]),
        end=np.concatenate([p.end for p in parts]),
        order=np.concatenate([deepened(p.order, max(q.order.shape[1] for q in parts)) for p in parts]),
        returned={
            n: Column(
                c.kind,
                np.concatenate([p.returned[n].values for p in parts]),
                np.concatenate([p.returned[n].nulls for p in parts]),
            )
            for n, c in parts[-1].returned.items()
        },
    )
