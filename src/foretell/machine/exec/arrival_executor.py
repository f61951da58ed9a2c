"""One subscription at work with arrival lists: what kernels.arrival_walk walks through, with room to grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Arrays, Ints
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns, evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import TemplateIndex
from foretell.language.tree import Expression
from foretell.machine.exec.arrival_ring import ArrivalRing
from foretell.machine.exec.limits import RunLedger
from foretell.machine.exec.nfa_executor import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.key_index import KeyIndex
from foretell.machine.kernels import arrival_walk
from foretell.machine.kernels.arrival_walk import CROWDED, FRONT, FULL_LANE, FULL_RING, LACKING, MATCHES
from foretell.plan.expressions import EventStart, PresenceFlag, RowSelected
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.registers import Register, RegisterKind


@dataclass(frozen=True)
class _Batch:
    """The events of a batch that some step may want: `rows` are their places in it, all else is theirs alone."""

    rows: Ints
    lane: Ints
    events: Arrays
    words: Ints
    nulls: NDArray[np.uint8]


@dataclass
class ArrivalExecutor:
    """The arrivals of one subscription, to be used as a foretell.machine.exec.nfa_executor.Stage is.

    `most` is how many matches are handed over at once: one event may complete very many.
    """

    plan: ArrivalPlan
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: TemplateIndex | None = None
    capacity: int = 1024
    most: int = 65_536
    ledger: RunLedger = field(default_factory=RunLedger)
    ring: ArrivalRing = field(init=False)
    heads: Ints = field(init=False)
    latest: tuple[Ints, Ints] = field(init=False)
    keys: KeyIndex = field(init=False)

    def __post_init__(self) -> None:
        subscription, finals = self.plan.program.subscription, self.plan.program.finals
        self._time = np.float64 if subscription.time is Type.FLOAT else np.int64
        self._windowed = subscription.within is not None
        self._within = self._time(subscription.within or 0)
        self._last = len(self.plan.steps) - 1
        self._kinds = {key: i for i, key in enumerate(dict.fromkeys([(), *self.plan.keys]))}
        self.refused: dict[tuple[int, int], int] = {}  # as in foretell.machine.exec.nfa_executor.Stage
        self.refusals: list[tuple[int, int, int]] = []
        self.dropped: dict[int, int] = {}
        size = 1 << max(self.capacity, self._last + 1).bit_length()
        self.ring = ArrivalRing(size, self.plan.width, self._time, self._last)
        self.keys = KeyIndex()
        self.heads, self.latest = self._new_heads(0), (self._new_latest(0), self._new_latest(0))
        self._search = *(np.zeros(self._last, np.int64) for _ in range(2)), np.zeros(len(finals), np.int64)
        self._slots = np.zeros((1, self.plan.slots), np.int64), np.ones((1, self.plan.slots), np.uint8)

    def __len__(self) -> int:
        """How many arrivals are held."""
        return len(self.ring)

    @property
    def alive(self) -> int:
        return len(self)

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event that is kept; None where there is none."""
        return self.ring.oldest

    def referenced(self) -> Ints:
        """The positions of all arrivals."""
        return self.ring.positions

    # ── a batch ──

    def feed(self, piece: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        """The matches that the events of a batch complete, in the order of their last events."""
        batch = self._batch(piece.events, piece.lane, lane_count, piece.base)
        parts = list(self._outputs(batch, now))
        self.ledger.held[id(self)] = len(self)
        whole = parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))
        return self._found(whole, batch, piece.base)

    def _outputs(self, batch: _Batch, now: int | float) -> Iterator[Arrays]:
        """Matches as the kernel writes them down: row of the last event, rows of the template, slots."""
        done, count = 0, len(batch.rows)
        size = max(1024, count)
        while True:
            output = self._output(min(self.most, size))
            done = self._run(batch, done, output)
            yield tuple(part[: self.ring.counters[MATCHES]] for part in output)
            if done == count:
                break
            size *= 4
        if self._windowed:
            arrival_walk.expire(self._time(now), self._within, self.ring.given, self._lists, self.ring.counters)

    def _run(self, batch: _Batch, done: int, output: Arrays) -> int:
        """Goes on until all is done or the output is full; returns where."""
        count, code = len(batch.rows), self.plan.code.code
        depth = max(1, code.depth)
        stacks = (np.zeros(depth), np.zeros(depth, np.int64), np.zeros(depth, np.uint8))
        slots, slot_nulls = self._slots
        parameters = self._parameter_words()
        counters = self.ring.counters
        counters[MATCHES] = 0
        while done < count:
            done = arrival_walk.run_arrivals(
                done,
                count,
                self.ledger.limits.lane,
                self._windowed,
                self._within,
                self.plan.tables,
                (code.ops, code.constants_f, code.constants_i, *self.strings.heap(cases=code.changes_case)),
                batch.events,
                (batch.words.view(np.float64), batch.words, batch.nulls),
                parameters,
                self.ring.given,
                self._lists,
                self._search,
                (slots.view(np.float64), slots, slot_nulls),
                output,
                counters,
                stacks,
            )
            positions = batch.events[5]
            if counters[LACKING] == FULL_LANE:
                self._relieve_lane(int(counters[CROWDED]), int(positions[done - 1]))
            elif counters[LACKING] == FULL_RING:
                self._make_room(int(positions[done]))
            else:
                break
        return done

    @property
    def _lists(self) -> Arrays:
        return (self.heads, *self.latest, *self.ring.lanes)

    def _batch(self, events: EventColumns, lane: Ints, lane_count: int, first_position: int) -> _Batch:
        """What the kernel reads of a batch, without the events that no step wants: often that is most of them."""
        given: dict[Expression, NDArray[np.bool_]] = {}
        template_rows = None
        if self.selection is not None:
            template_rows = self.selection.rows(events, self.strings)
            given[RowSelected()] = template_rows != 0
        flags = evaluate_predicates(self.plan.predicates, events, self.strings, given)
        for key, kind in self._kinds.items():
            if kind:
                flags[[k == key for k in self.plan.keys]] &= self._agreeing(key, events)
        rows = np.flatnonzero(np.bitwise_or.reduce(flags, axis=0))
        flags = np.ascontiguousarray(flags[:, rows])
        lanes = np.ascontiguousarray(lane[rows])
        columns = [self._column(expression, events, rows) for expression in self.plan.columns]
        words, nulls = np.zeros((len(columns), len(rows)), np.int64), np.zeros((len(columns), len(rows)), np.uint8)
        for i, column in enumerate(columns):
            words[i], nulls[i] = np.ascontiguousarray(column.values).view(np.int64), column.nulls
        given_events = (
            self._buckets(events, rows, lanes, flags),
            np.array([self._kinds[key] for key in self.plan.keys], np.int64),
            lanes,
            events.time.values[rows],
            events.start.values[rows],
            rows + first_position,
            flags,
            np.zeros(len(rows), np.int64) if template_rows is None else template_rows[rows],
        )
        self._room_for_lists(lane_count)
        return _Batch(rows, lanes, given_events, words, nulls)

    def _column(self, expression: Expression, events: EventColumns, rows: Ints) -> Column:
        column = self._worth(expression, events)
        count = len(events)
        return Column(
            column.kind, np.broadcast_to(column.values, count)[rows], np.broadcast_to(column.nulls, count)[rows]
        )

    def _worth(self, expression: Expression, events: EventColumns) -> Column:
        match expression:
            case EventStart():
                return events.start
            case PresenceFlag(attribute=name):
                attribute = events.attributes.get(name)
                nothing = np.zeros(1, np.bool_)
                return Column(Type.INT, (nothing if attribute is None else ~attribute.nulls).astype(np.int64), nothing)
        return events.evaluate(expression, self.strings)

    # ── keys ──

    def _agreeing(self, key: tuple[Expression, ...], events: EventColumns) -> NDArray[np.bool_]:
        """Which events have a key that another may agree with: NULL never agrees, nor does what is no number."""
        agreeing = np.ones(len(events), np.bool_)
        for column in (self._worth(expression, events) for expression in key):
            agreeing &= ~column.nulls
            if column.kind is Type.FLOAT:
                agreeing &= ~np.isnan(column.values)
        return agreeing

    def _buckets(self, events: EventColumns, rows: Ints, lane: Ints, flags: NDArray[np.uint8]) -> Ints:
        """For each kind of key the number of the list in which each event stands; the first kind is the lane."""
        buckets = np.zeros((len(self._kinds), len(rows)), np.int64)
        buckets[0] = lane
        self._sweep(len(rows))
        for key, kind in self._kinds.items():
            if kind:
                mine = np.flatnonzero(flags[[k == key for k in self.plan.keys]].any(axis=0))
                columns = [self._column(expression, events, rows[mine]) for expression in key]
                words = np.stack([lane[mine], *map(_words, columns)], axis=1)
                starts = np.arange(len(mine) + 1) * words.shape[1]
                buckets[kind, mine] = self.keys.of(starts, words.reshape(-1))
        return buckets

    def _sweep(self, more: int) -> None:
        """Forgets the keys whose arrivals are all gone, when room for more would have to be made and if it helps."""
        count = len(self.keys)
        if not count or count + more <= len(self.heads):
            return
        alive = (self.heads[:count] >= self.ring.counters[FRONT]).any(axis=1)
        kept = int(alive.sum())
        if 2 * kept > count:
            return
        self.keys.keep(alive)
        for lists in (self.heads, self.latest[0]):
            lists[:kept] = lists[:count][alive]
            lists[kept:] = -1

    # ── room ──

    def _make_room(self, position: int) -> None:
        """The ring is full. Where the engine may have no more, the oldest are dropped, or the fullest lanes refused."""
        self.ledger.held[id(self)] = len(self)
        if self.ring.make_room(self.heads):
            return
        limits = self.ledger.limits
        if self.ledger.left > 0:
            self.ring.grow()
        elif limits.then == "drop":
            self._count_dropped(self.ring.drop(max(self._last + 1, len(self) // 4)))
        else:
            freed, enough = 0, len(self) // 4
            for lane in self.ring.crowded_lanes():
                freed += self._refuse(lane, position, limits.engine)
                if freed >= enough:
                    break

    def _relieve_lane(self, lane: int, position: int) -> None:
        """With the event at a position a lane has more arrivals than it may."""
        limits, held = self.ledger.limits, int(self.ring.lanes[0][lane])
        if limits.then == "drop":
            self._count_dropped(self.ring.drop_of(lane, max(held // 4, held - limits.lane)))
        else:
            self._refuse(lane, position, limits.lane)

    def _refuse(self, lane: int, position: int, most: int) -> int:
        self.refused[0, lane] = position
        self.refusals.append((0, lane, most))
        return self.ring.refuse(lane)

    def _count_dropped(self, count: int) -> None:
        self.dropped[0] = self.dropped.get(0, 0) + count

    def _new_heads(self, count: int) -> Ints:
        return np.full((count, self._last), -1, np.int64)

    def _new_latest(self, count: int) -> Ints:
        return np.full((count, len(self.plan.predicates) - self._last - 1), -1, np.int64)

    def _room_for_lists(self, lane_count: int) -> None:
        self.ring.room_for_lanes(lane_count)
        by_key, by_lane = self.latest
        lists = len(self.keys) if len(self._kinds) > 1 else lane_count
        if lists > len(self.heads):
            more = max(lists, 2 * len(self.heads)) - len(self.heads)
            self.heads = np.concatenate([self.heads, self._new_heads(more)])
            by_key = np.concatenate([by_key, self._new_latest(more)])
        if lane_count > len(by_lane):
            more = max(lane_count, 2 * len(by_lane)) - len(by_lane)
            by_lane = np.concatenate([by_lane, self._new_latest(more)])
        self.latest = by_key, by_lane

    def _parameter_words(self) -> Arrays:
        """The row of the FOR EACH table, as the kernel reads it."""
        words = np.array([c.values[:1].view(np.int64)[0] for c in self.parameters.values()], np.int64).reshape(1, -1)
        nulls = np.array([c.nulls[0] for c in self.parameters.values()], np.uint8).reshape(1, -1)
        return words.view(np.float64), words, nulls

    def move_rows(self, selection: TemplateIndex, move: Callable[[Ints], Ints]) -> None:
        """Goes on with other rows of its template: `move` says where those of an interval stand now."""
        self.selection = selection
        self.ring.move_rows(move)

    # ── matches ──

    def _output(self, size: int) -> Arrays:
        width = len(self.plan.program.finals)
        return np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, width), np.int64)

    def _found(self, output: Arrays, batch: _Batch, first_position: int) -> RawMatches:
        row, template_rows, slots = output
        return RawMatches(
            np.zeros(len(row), np.int64),
            batch.lane[row],
            batch.rows[row] + first_position,
            slots[:, self.plan.program.finals[Register(RegisterKind.POSITION, self.plan.steps[0])]],
            np.full(len(row), -1, np.int64),
            template_rows,
            slots,
            np.zeros(slots.shape, np.uint8),
            NO_NODES,
        )

    # ── state ──

    def state(self) -> dict[str, NDArray[Any]]:
        """All that a later batch needs, as arrays. Between batches no walk is under way."""
        keys = {f"keys.{name}": part for name, part in self.keys.state().items()}
        by_key, by_lane = self.latest
        lists = {"heads": self.heads.copy(), "latest": by_key.copy(), "lane_latest": by_lane.copy()}
        refused = np.array([[lane, since] for (_, lane), since in self.refused.items()], np.int64).reshape(-1, 2)
        return {**keys, **lists, "refused": refused, **self.ring.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.keys.restore(
            {name.removeprefix("keys."): part for name, part in state.items() if name.startswith("keys.")}
        )
        self.heads = state["heads"].copy()
        self.latest = state["latest"].copy(), state["lane_latest"].copy()
        self.refused = {(0, lane): since for lane, since in state.get("refused", np.zeros((0, 2), np.int64)).tolist()}
        # A key begins with its lane; without keys a list is a lane's.
        by_key = self.keys.words[self.keys.starts[: len(self.keys)]]
        self.ring.restore(state, self.heads, by_key if len(self._kinds) > 1 else np.arange(len(self.heads)))


def _words(column: Column) -> Ints:
    """Values as words: equal ones are the same."""
    values = column.values + 0.0 if column.kind is Type.FLOAT else column.values  # -0.0 is 0.0
    return np.ascontiguousarray(values).view(np.int64)
