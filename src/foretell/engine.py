"""One engine over lanes, in process: the statements of a program, one after the other, on batches of events."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.notification import Notification
from foretell.events.read import Loaded, LoadedTable
from foretell.events.types import Scalar, Type, format_timestamp
from foretell.filter.columns import Column, Strings, evaluate, from_arrow
from foretell.filter.predicates import Events, answers
from foretell.language import tree
from foretell.language.checked import Checked, CheckedCorrelator, CheckedSubscription
from foretell.machine.choose import Chooser, One, Taker
from foretell.machine.finish import finished
from foretell.machine.history import History, Lanes
from foretell.machine.matches import Matches
from foretell.machine.stage import Stage
from foretell.plan.program import Program, UnsupportedError, build
from foretell.plan.registers import mapped

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Input:
    """Events of one stream, or derived ones, on their way to the statements that read them.

    `order` has a row for each event: its place in the one order of all events (decision 0002, items 1 and 2).
    """

    events: Events
    name: NDArray[np.object_]
    order: Ints

    def __len__(self) -> int:
        return len(self.events)


@dataclass(frozen=True)
class Result:
    """A notification, with what its place in the order of all needs."""

    notification: Notification
    attributes: Mapping[str, Scalar]
    order: tuple[int, ...]
    positions: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def place(self) -> tuple[object, ...]:
        n = self.notification
        key = json.dumps(n.key, sort_keys=True, default=str)
        number = (n.id, "") if isinstance(n.id, int | float) else (math.inf, str(n.id))
        return n.end, n.subscription, self.positions, self.steps, number, key


@dataclass
class _Row:
    """One subscription at work: for a template, one for each row of its table."""

    parameters: Mapping[str, Column]
    id: Scalar
    stage: Stage | None
    chooser: Chooser
    taker: Taker
    waiting: list[tuple[One, Result]] = field(default_factory=list)


class Engine:
    """Runs the subscriptions of a checked program on finite or growing inputs."""

    def __init__(self, checked: Checked, tables: Mapping[str, LoadedTable] | None = None) -> None:
        self.checked = checked
        self.strings = Strings()
        self.tables = dict(tables or {})
        self._depth = 1 + 2 * len(checked.statements)
        self._sequence = 0
        self._times: list[Any] = []
        self._clock: dict[str, int | float] = {}
        self._statements = [_Statement(self, s) for s in checked.statements]

    def feed(self, loaded: Mapping[str, Loaded], until: int | float | None = None) -> list[Notification]:
        """The notifications that a batch of each stream brings. The events of all streams come in their order."""
        inputs = self._ordered(loaded)
        for name, some in inputs.items():
            if len(some):
                self._clock[name] = max(self._clock.get(name, -math.inf), some.events.time.values.max())
        results: list[Result] = []
        for statement in self._statements:
            found = statement.feed(inputs, until)
            inputs[statement.name] = statement.derived(found)
            results += found
        return [r.notification for r in sorted(results, key=lambda r: r.place)]

    # ── order ──

    def _ordered(self, loaded: Mapping[str, Loaded]) -> dict[str, Input]:
        """The events of all streams, with their places in the one order."""
        inputs = {name: self._input(name, one) for name, one in loaded.items()}
        ends, kinds, ties, ranks, arrivals, owners = [], [], [], [], [], []
        for index, (name, one) in enumerate(loaded.items()):
            count = len(inputs[name])
            ends.append(inputs[name].events.time.values.astype(np.float64 if self._floats(loaded) else np.int64))
            kind, tie = _tie_breaker(one, count)
            kinds.append(kind)
            ties.append(tie)
            ranks.append(np.full(count, self.checked.ranks[name], np.int64))
            arrivals.append(np.arange(count))
            owners.append(np.full(count, index, np.int64))
        if not ends:
            return inputs
        tie_ranks = _ranked([t for some in ties for t in some])
        together = [np.concatenate(a) for a in (arrivals, ranks, kinds, ends)]
        order = np.lexsort((together[0], together[1], tie_ranks, together[2], together[3]))
        sequence = np.empty(len(order), np.int64)
        sequence[order] = self._sequence + np.arange(len(order))
        self._sequence += len(order)
        self._times.append(together[3][order])
        owner = np.concatenate(owners)
        for index, name in enumerate(loaded):
            mine = sequence[owner == index]
            places = np.full((len(mine), self._depth), -1, np.int64)
            places[:, 0] = 2 * mine
            inputs[name] = Input(inputs[name].events, inputs[name].name, places)
        return inputs

    def _floats(self, loaded: Mapping[str, Loaded]) -> bool:
        return any(one.schema.time_type is Type.FLOAT for one in loaded.values())

    def _input(self, name: str, loaded: Loaded) -> Input:
        schema, table = loaded.schema, loaded.table
        assert schema.time is not None
        columns = {n: from_arrow(table[n], kind, self.strings) for n, kind in schema.attributes.items()}
        count = table.num_rows
        code = self.strings.code(name)
        stream = Column(Type.STRING, np.full(count, code, np.int64), np.zeros(count, np.bool_))
        events = Events(columns, schema.attributes, columns[schema.time], columns[schema.time], stream)
        names = np.full(count, None, object)
        if schema.id is not None:
            names[:] = _names(table[schema.id], schema.attributes[schema.id])
        return Input(events, names, np.full((count, self._depth), -1, np.int64))

    def place_of_deadline(self, time: int | float) -> int:
        """After every event of that instant, before any later one."""
        times = np.concatenate(self._times) if len(self._times) > 1 else self._times[0]
        self._times = [times]
        return 2 * int(np.searchsorted(times, time, side="right")) - 1


def _tie_breaker(loaded: Loaded, count: int) -> tuple[Ints, list[Any]]:
    if loaded.schema.order is None:
        return np.zeros(count, np.int64), [0] * count
    column = loaded.table[loaded.schema.order]
    values = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    kinds = [0 if v is None else 2 if isinstance(v, str) else 1 for v in values]
    return np.array(kinds, np.int64), [0 if v is None else v for v in values]


def _ranked(values: list[Any]) -> Ints:
    """Numbers in the order of the values; texts and numbers are told apart by their kind before."""
    numbers = {v: i for i, v in enumerate(sorted({v for v in values if not isinstance(v, str)}))}
    texts = {v: i for i, v in enumerate(sorted({v for v in values if isinstance(v, str)}))}
    return np.array([texts[v] if isinstance(v, str) else numbers[v] for v in values], np.int64)


def _names(column: Any, kind: Type) -> list[Scalar]:
    if kind is Type.TIMESTAMP:
        return [None if v is None else format_timestamp(v) for v in column.cast(pa.int64()).to_pylist()]
    return list(column.to_pylist())


class _Statement:
    """One statement: its lanes, the events it may still speak of, and its subscriptions at work."""

    def __init__(self, engine: Engine, checked: CheckedSubscription | CheckedCorrelator) -> None:
        if isinstance(checked, CheckedCorrelator):
            raise UnsupportedError("correlators")
        if checked.tree.losing is not None:
            raise UnsupportedError("LOSING")
        self.engine, self.checked = engine, checked
        self.lanes = Lanes()
        self.history: History | None = None
        self.positions = 0
        self.silences: dict[int, dict[int, int | float]] = {}
        self.program: Program | None = None
        columns: dict[str, Type] = {}
        if checked.tree.table is not None:
            columns = dict(engine.tables[checked.tree.table].types)
        rows = list(self._table_rows())
        if rows and not isinstance(checked.pattern, tree.Silence):
            self.program = build(checked, engine.strings.code, columns)
        self.rows = [self._row(row, columns) for row in rows]
        self.keys: list[dict[str, Scalar]] = []

    @property
    def name(self) -> str:
        return self.checked.name

    def _table_rows(self) -> Iterable[Mapping[str, Scalar]]:
        table = self.checked.tree.table
        return [{}] if table is None else self.engine.tables[table].rows

    def _row(self, row: Mapping[str, Scalar], types: Mapping[str, Type]) -> _Row:
        parameters = {name: _one(row[name], kind, self.engine.strings) for name, kind in types.items()}
        steps = self.checked.positive
        chosen = tuple(
            (steps.index(n), s.shape.chosen) for n, s in self.checked.steps.items() if s.shape.chosen is not None
        )
        after = self.checked.tree.after
        return _Row(
            parameters,
            row.get("id"),
            None if self.program is None else Stage(self.program, self.engine.strings, parameters=parameters),
            Chooser(chosen),
            Taker(after.policy, None if after.step is None else steps.index(after.step)),
        )

    # ── a batch ──

    def feed(self, inputs: Mapping[str, Input], until: int | float | None) -> list[Result]:
        sources = self.checked.tree.streams
        now = self._now(until)
        merged = self._merged([inputs[n] for n in sources if n in inputs])
        if now is None:
            return []
        self.engine._clock[self.name] = now
        batch = self._placed(merged)
        history = batch if self.history is None else self.history.extended(batch)
        self.history = history
        results: list[Result] = []
        for number, row in enumerate(self.rows):
            if row.stage is None:
                results += self._silent(number, row, batch, now)
            else:
                results += self._matched(row, batch, history, now)
        self._forget()
        return results

    def _now(self, until: int | float | None) -> int | float | None:
        clock = self.engine._clock
        times = [clock[n] for n in self.checked.tree.streams if n in clock]
        if until is not None:
            times.append(until)
        return max(times) if times else None

    def _merged(self, inputs: list[Input]) -> Input:
        """The streams of FROM as one, in order."""
        attributes: dict[str, Column] = {}
        count = sum(len(i) for i in inputs)
        for name, kind in self.checked.attributes.items():
            parts = [_typed(i.events.attributes.get(name), kind, len(i)) for i in inputs]
            attributes[name] = _stacked(parts, kind)
        if "stream" in self.checked.tree.per and not any("stream" in i.events.attributes for i in inputs):
            attributes["stream"] = _stacked([i.events.stream for i in inputs], Type.STRING)
        time = _stacked([_typed(i.events.time, self.checked.time, len(i)) for i in inputs], self.checked.time)
        start = _stacked([_typed(i.events.start, self.checked.time, len(i)) for i in inputs], self.checked.time)
        stream = _stacked([i.events.stream for i in inputs], Type.STRING)
        order = np.concatenate([np.zeros((0, self.engine._depth), np.int64), *(i.order for i in inputs)])
        name_ = np.concatenate([np.zeros(0, object), *(i.name for i in inputs)])
        by = np.lexsort(order.T[::-1]) if count else np.zeros(0, np.int64)

        def sorted_(column: Column) -> Column:
            return Column(column.kind, column.values[by], column.nulls[by])

        events = Events(
            {n: sorted_(c) for n, c in attributes.items()},
            self.checked.attributes,
            sorted_(time),
            sorted_(start),
            sorted_(stream),
        )
        return Input(events, name_[by], order[by])

    def _placed(self, merged: Input) -> History:
        known = len(self.lanes)
        lane = self.lanes.of(merged.events.attributes, self.checked.tree.per, len(merged))
        number = self.lanes.count(lane)
        for new in range(known, len(self.lanes)):
            at = int(np.argmax(lane == new)) if self.checked.tree.per else 0
            self.keys.append({str(n): self._scalar(merged.events.attributes[n], at) for n in self.checked.tree.per})
        base = self.positions
        self.positions += len(merged)
        return History(base, merged.events, lane, number, merged.name, merged.order)

    def _scalar(self, column: Column, at: int) -> Scalar:
        return _shown(column, at, self.engine.strings)

    def _forget(self) -> None:
        """Lets go of events that nothing can speak of any more."""
        assert self.history is not None
        oldest = [row.stage.oldest for row in self.rows if row.stage is not None]
        live = min((o for o in oldest if o is not None), default=self.positions)
        if self.program is not None and self.program.leading:
            return
        self.history = self.history.since(live)

    # ── matches ──

    def _matched(self, row: _Row, batch: History, history: History, now: int | float) -> list[Result]:
        assert row.stage is not None
        assert self.program is not None
        found = row.stage.feed(batch.events, batch.lane, len(self.lanes), batch.base, now)
        matches = Matches.of(self.program, history, self.engine.strings, found, row.stage.nodes, row.parameters)
        matches = finished(matches)
        returned = self._returned(matches)
        ones = [(one, self._result(row, matches, one, returned)) for one in self._ones(matches)]
        if self.checked.known_late:
            row.waiting += ones
            ones = [(o, r) for o, r in row.waiting if o.known is None or o.known < now]
            row.waiting = [(o, r) for o, r in row.waiting if o.known is not None and o.known >= now]
        unique = {(o.lane, o.bound): (o, r) for o, r in ones}
        results = {id(o): r for o, r in unique.values()}
        chosen = row.chooser.chosen([o for o, _ in unique.values()])
        taken = row.taker.taken(sorted(chosen, key=lambda o: o.taking))
        return [results[id(o)] for o in taken]

    def _ones(self, matches: Matches) -> list[One]:
        ones = []
        starts = matches.starts.tolist()
        late = self.checked.known_late
        for i in range(len(matches)):
            events = slice(starts[i], starts[i + 1])
            bound = tuple(zip(matches.position[events].tolist(), matches.step[events].tolist()))
            known: float | int | None = None
            place: tuple[int, ...]
            end = matches.end[i].item()
            if late:
                known = self._known(matches, bound, bool(matches.late[i]))
            if known is not None:
                place = (self.engine.place_of_deadline(known),) if math.isfinite(known) else (0,)
            elif matches.late[i]:
                place = (self.engine.place_of_deadline(end),)
            else:
                place = tuple(matches.history.order[bound[-1][0] - matches.history.base].tolist())
            ones.append(One(i, int(matches.lane[i]), bound, place, known, self._instants(matches.history)))
        return ones

    def _instants(self, history: History) -> Callable[[int], tuple[int, int]]:
        """The first and the last position of the instant of an event, where ties are simultaneous."""

        def instants(position: int) -> tuple[int, int]:
            at = np.array([position])
            simultaneous = self.checked.simultaneous
            last = int(history.instant_after(at, simultaneous)[0]) - 1
            return int(history.instant_of(at, simultaneous)[0]), last

        return instants

    def _known(self, matches: Matches, bound: tuple[tuple[int, int], ...], late: bool) -> int | float | None:
        """When a match with a LAST that nothing follows is known: decision 0002, item 11."""
        history, steps, within = matches.history, self.checked.positive, self.checked.within
        assert within is not None
        begins = {p: history.events.start.values[p - history.base].item() for p, _ in bound}
        waits = [begins[bound[0][0]]] if late else []
        names = {steps[s] for _, s in bound}
        for name, settling in self.checked.known_late.items():
            if name in names and not settling & names:
                others = [begins[p] for p, s in bound if steps[s] != name]
                waits.append(min(others, default=math.inf))
        return max(waits) + within if waits else None

    def _returned(self, matches: Matches) -> dict[str, Column]:
        checked = self.checked
        if checked.tree.returns:
            return {r.name: matches.worth(r.expression) for r in checked.tree.returns}
        return {v: matches.worth(tree.Variable(v)) for v in checked.variables}

    def _result(self, row: _Row, matches: Matches, one: One, returned: Mapping[str, Column]) -> Result:
        i, history, checked = one.index, matches.history, self.checked
        names: dict[str, Any] = dict.fromkeys(checked.positive)
        for position, step in one.bound:
            at = position - history.base
            name = history.name[at] if history.name[at] is not None else int(history.number[at])
            step_name = checked.positive[step]
            if checked.steps[step_name].shape.repeated:
                names[step_name] = [*(names[step_name] or []), name]
            else:
                names[step_name] = name
        end = matches.end[i].item() if one.known is None else one.known
        attributes = {str(n): _attribute(c, i, checked.returns[n]) for n, c in returned.items()}
        bindings = {str(n): _binding(c, i, checked.returns[n], self.engine.strings) for n, c in returned.items()}
        notification = Notification(
            subscription=checked.name,
            kind="match",
            key=dict(self.keys[one.lane]) if checked.tree.per else None,
            start=matches.start[i].item(),
            end=end,
            probability=1.0,
            horizon=None,
            id=row.id,
            bindings=bindings,
            events=names,
            time_type=checked.time,
        )
        positions = tuple(p for p, _ in one.bound)
        return Result(notification, attributes, one.order, positions, tuple(s for _, s in one.bound))

    # ── silence ──

    def _silent(self, number: int, row: _Row, batch: History, now: int | float) -> list[Result]:
        """`!b` alone: decision and reference as in foretell.reference.silence."""
        pattern, within = self.checked.pattern, self.checked.within
        assert isinstance(pattern, tree.Silence)
        assert within is not None
        if self.checked.tree.table is not None:
            raise UnsupportedError("a silence FOR EACH")
        steps = [self.checked.steps[str(n.step.name)].conditions for n in pattern.absent]
        breaks = np.asarray(answers(steps, batch.events, self.engine.strings).any(axis=0))
        since = self.silences.setdefault(number, {})
        results = []
        times = batch.events.time.values.tolist()
        for lane, time, broken in zip(batch.lane.tolist(), times, breaks.tolist()):
            if lane not in since:
                since[lane] = time
            results += self._quiet(row, lane, since, within, time)
            if broken and time > since[lane]:
                since[lane] = time
        for lane in since:
            results += self._quiet(row, lane, since, within, now)
        return results

    def _quiet(
        self, row: _Row, lane: int, since: dict[int, int | float], within: int | float, now: int | float
    ) -> list[Result]:
        results = []
        while since[lane] + within < now:
            start, since[lane] = since[lane], since[lane] + within
            results += self._silence(row, lane, start, since[lane])
        return results

    def _silence(self, row: _Row, lane: int, start: int | float, end: int | float) -> list[Result]:
        """A silence as a result, if HAVING holds. Its duration is its length."""
        checked = self.checked
        kind = Type.DURATION if checked.time is Type.TIMESTAMP else checked.time
        length = _codes([end - start], kind)

        def worth(expression: tree.Expression) -> Column:
            plain = with_columns(expression, {"duration": length, **row.parameters})
            return evaluate(plain, {"duration": length, **row.parameters}, length, None, self.engine.strings, kind, {})

        if checked.tree.having is not None:
            truth = worth(checked.tree.having)
            if truth.nulls[0] or not truth.values[0]:
                return []
        returned = {r.name: worth(r.expression) for r in checked.tree.returns}
        attributes = {str(n): _attribute(c, 0, checked.returns[n]) for n, c in returned.items()}
        bindings = {str(n): _binding(c, 0, checked.returns[n], self.engine.strings) for n, c in returned.items()}
        notification = Notification(
            subscription=self.name,
            kind="match",
            key=dict(self.keys[lane]) if checked.tree.per else None,
            start=start,
            end=end,
            probability=1.0,
            horizon=None,
            id=row.id,
            bindings=bindings,
            events={},
            time_type=checked.time,
        )
        return [Result(notification, attributes, (self.engine.place_of_deadline(end),), (), ())]

    # ── results as events ──

    def derived(self, results: list[Result]) -> Input:
        ordered = sorted(results, key=lambda r: (r.order, r.place))
        count, depth = len(ordered), self.engine._depth
        order = np.full((count, depth), -1, np.int64)
        rank = self.engine.checked.ranks[self.name]
        for i, result in enumerate(ordered):
            path = [v for v in result.order if v != -1] if result.order[0] != -1 else list(result.order[:1])
            path = list(result.order)
            while len(path) > 1 and path[-1] == -1:
                path.pop()
            path += [rank, i]
            order[i, : len(path)] = path[:depth]
        dtype = np.float64 if self.checked.time is Type.FLOAT else np.int64
        time = np.array([r.notification.end for r in ordered], dtype)
        start = np.array([r.notification.start for r in ordered], dtype)
        known = np.zeros(count, np.bool_)
        attributes = {
            name: _codes([r.attributes.get(name) for r in ordered], kind) for name, kind in self.checked.returns.items()
        }
        code = self.engine.strings.code(self.name)
        events = Events(
            attributes,
            self.checked.returns,
            Column(self.checked.time, time, known),
            Column(self.checked.time, start, known),
            Column(Type.STRING, np.full(count, code, np.int64), known),
        )
        return Input(events, np.full(count, None, object), order)


# ── values ──


def with_columns(expression: tree.Expression, columns: Mapping[str, Column]) -> tree.Expression:
    """A silence's expression with its duration and parameters as attributes."""
    match expression:
        case tree.Elapsed():
            return tree.Attribute(tree.This(), "duration")
        case tree.Parameter(name=name):
            return tree.Attribute(tree.This(), name)
    return mapped(expression, lambda e: with_columns(e, columns))


def _one(value: Scalar, kind: Type, strings: Strings) -> Column:
    return _several([value], kind, strings)


def _several(values: list[Any], kind: Type, strings: Strings) -> Column:
    nulls = np.array([v is None for v in values], np.bool_)
    if kind is Type.STRING:
        return Column(kind, np.array([0 if v is None else strings.code(v) for v in values], np.int64), nulls)
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array([0 if v is None else v for v in values], dtype), nulls)


def _codes(values: list[Any], kind: Type) -> Column:
    """Values that are words already."""
    nulls = np.array([v is None for v in values], np.bool_)
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(kind, np.array([0 if v is None else v for v in values], dtype), nulls)


def _typed(column: Column | None, kind: Type, count: int) -> Column:
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    if column is None:
        return Column(kind, np.zeros(count, dtype), np.ones(count, np.bool_))
    return Column(kind, column.values.astype(dtype, copy=False), column.nulls)


def _stacked(columns: list[Column], kind: Type) -> Column:
    dtype = np.float64 if kind is Type.FLOAT else np.int64
    return Column(
        kind,
        np.concatenate([np.zeros(0, dtype), *(c.values for c in columns)]),
        np.concatenate([np.zeros(0, np.bool_), *(c.nulls for c in columns)]),
    )


def _shown(column: Column, at: int, strings: Strings) -> Scalar:
    """A value as a notification carries it."""
    if column.nulls[at]:
        return None
    value = column.values[at].item()
    match column.kind:
        case Type.STRING:
            return strings.text(value)
        case Type.BOOL:
            return bool(value)
        case Type.TIMESTAMP:
            return format_timestamp(value)
        case Type.DURATION:
            return float(value) / 1_000_000
    return value  # type: ignore[no-any-return]


def _binding(column: Column, at: int, kind: Type, strings: Strings) -> Scalar:
    shown = _shown(column, at, strings)
    if kind is Type.FLOAT and isinstance(shown, int) and not isinstance(shown, bool):
        return float(shown)
    return shown


def _attribute(column: Column, at: int, kind: Type) -> Any:
    """A value as an attribute of a derived event; a string stays a code, and is one again."""
    if column.nulls[at]:
        return None
    value = column.values[at].item()
    if column.kind is Type.DURATION:
        return value / 1_000_000
    return float(value) if kind is Type.FLOAT else value
