"""Subscriptions that share one machine: what begins alike is looked for once (P-ToPSS section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import statement_text
from foretell.language.tree import Policy
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.limits import RunLedger
from foretell.machine.exec.nfa_executor import NfaExecutor, Observation, RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.kernels.layout import NONE
from foretell.machine.matches.exclusions import Exclusions
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.arrival_tracker import ArrivalTracker
from foretell.machine.observe.forecast_emitter import ForecastEmitter, ObservedStatement
from foretell.machine.observe.observer import Observer, Probe, go_on, kept
from foretell.machine.subscription_runtime import SubscriptionRuntime
from foretell.machine.template_rows import Move, TemplateRows
from foretell.plan.lower.arrivals import lower
from foretell.plan.lower.registers import Hashed, Lagged
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import GroupKind, keeps_keys


@dataclass(eq=False)
class NfaGroup:
    """Subscriptions on one feed. `parameters` and `rows` are of the one template that has a group to itself.

    `joined` are all that ever came, by their numbers, and `moves` says in which order they came and went (`~n`: the
    one of number n went). The numbers of states and slots depend on it.
    """

    feed: MergedStream
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    rows: TemplateRows | None = None
    kind: GroupKind = GroupKind.OWN
    watcher: Observer | None = None

    def __post_init__(self) -> None:
        checked = self.feed.checked
        self.shared = SharedNfa.empty(self.strings.code, checked.simultaneous, checked.time)
        self.members: dict[int, SubscriptionRuntime] = {}
        self.joined: list[CheckedSubscription] = []
        self.moves: list[int] = []
        self.stage: NfaExecutor | ArrivalExecutor | None = None
        self.standing: ArrivalTracker | None = None
        self.looking: NfaExecutor | None = None  # goes through the events when it is known what taken matches exclude
        self.excluded: Exclusions | None = None
        self.settled = False

    @property
    def open(self) -> bool:
        """Whether others may join."""
        return self.kind.shares and not self.shared.full

    def add(self, checked: CheckedSubscription, types: Mapping[str, Type] | None = None, row_id: Scalar = None) -> int:
        """One more subscription, from the next event on; its number. `types` and `row_id` are of its template."""
        selection = None if self.rows is None else self.rows.selection
        if self.kind is GroupKind.ARRIVALS:
            plan = lower(checked, self.strings.code, types, selected=selection is not None)
            self.stage = ArrivalExecutor(plan, self.strings, self.parameters, selection, ledger=self.feed.ledger)
            self.standing = None if self.watcher is None else ArrivalTracker(plan, self.strings)
            number, program = 0, plan.program
        else:
            selected = selection is not None
            shared, number = self.shared.joined_by(checked, types, selected=selected)
            if not keeps_keys(shared, observed=self.watcher is not None).value:
                unkeyed = SharedNfa.empty(self.strings.code, checked.simultaneous, checked.time, keyed=False)
                shared, number = unkeyed.joined_by(checked, types, selected=selected)
            self.shared, program = shared, shared.members[number]
        since = self.feed.positions
        self.members[number] = SubscriptionRuntime(
            program, self.strings, self.feed, row_id, self.parameters, self.rows, since=since
        )
        if self.watcher is not None:
            self.excluded = Exclusions(self.members[number].taker)
        self.joined.append(checked)
        self.moves.append(number)
        self.settled = False
        return number

    def remove(self, number: int) -> None:
        del self.members[number]
        self.moves.append(~number)
        if self.kind is not GroupKind.ARRIVALS:
            self.shared = self.shared.without(number)
        self.settled = False

    def settle(self) -> None:
        """Puts the machine as it is now to work. It waits for the next batch, as others may come and go before."""
        if self.settled or self.kind is GroupKind.ARRIVALS:
            self.settled = True
            return
        machine = self.shared.compiled
        if isinstance(self.stage, NfaExecutor):
            self.stage.adopt(machine)
        else:
            selection = None if self.rows is None else self.rows.selection
            stage = partial(NfaExecutor, machine, self.strings, self.parameters, selection)
            sight = None
            if self.watcher is not None:
                (member,) = self.members.values()
                sight = Probe.of(machine, member.program)
                if member.taker.policy is not Policy.HOLD:
                    self.looking = stage(ledger=RunLedger(self.feed.ledger.limits), sight=sight)
                    sight = None
            self.stage = stage(ledger=self.feed.ledger, sight=sight)
        self.settled = True

    def move_rows(self, move: Move) -> None:
        """Goes on with the rows of its template as they are now."""
        assert self.rows is not None
        if self.stage is not None:
            self.stage.move_rows(self.rows.selection, move)

    @property
    def lagged(self) -> set[Lagged]:
        return self.stage.machine.lagged if isinstance(self.stage, NfaExecutor) else set()

    def tell(self, piece: EventSegment, now: int | float, order: EventOrder) -> list[ResultBatch]:
        """What is told of a batch, by those that have something to tell."""
        assert self.stage is not None
        found = self.stage.feed(piece, len(self.feed.lanes), now)
        self._note()
        if self.stage.refused:
            found = self._without_refused(self.stage, found)
        if len(self.members) == 1:
            told = [m.tell(found, now, order) for m in self.members.values() if len(found) or m.waiting]
            return told + self._foretold(piece, now, told)
        assert isinstance(self.stage, NfaExecutor)
        owner = self.stage.machine.owners[found.state]
        by = np.argsort(owner, kind="stable")
        found, owner = found.only(by), owner[by]
        told = []
        for number, member in self.members.items():
            first, last = np.searchsorted(owner, [number, number + 1])
            if first < last or member.waiting:
                told.append(member.tell(found.only(slice(first, last)), now, order))
        return told

    def _foretold(self, piece: EventSegment, now: int | float, told: list[ResultBatch]) -> list[ResultBatch]:
        """The forecasts of one that is watched."""
        if self.watcher is None:
            return []
        (member,) = self.members.values()
        assert self.excluded is not None
        holds = member.taker.policy is Policy.HOLD
        excluding = self.excluded.after(piece, [] if holds else [one.bound_events for one in told if len(one)])
        if self.standing is not None:
            seen: Observation | None = self.standing.see(piece, excluding)
        elif self.looking is not None:
            self.looking.excluding = excluding
            self.looking.feed(piece, len(self.feed.lanes), now)
            seen = self.looking.partial
        else:
            seen = self._stage.partial
        return ForecastEmitter(self.watcher, member).tell(piece, seen, told)

    def whose(self, now: int | float) -> ObservedStatement | None:
        """Whose the processes are that are seen; None where nobody watches, or nothing has come yet."""
        if self.watcher is None or self.stage is None:
            return None
        (member,) = self.members.values()
        if self.standing is not None:
            return ObservedStatement(self.watcher, member, self.standing.by_value, self.standing.values, now)
        stage = self.looking or self._stage
        sight, columns = stage.sight, stage.machine.columns
        by = columns[sight.key] if sight is not None and sight.key != NONE else None
        if isinstance(by, Hashed):
            return ObservedStatement(self.watcher, member, stage.tables.get(by.kind), (by.expression,), now)
        return ObservedStatement(self.watcher, member, None, (), now)

    @property
    def _stage(self) -> NfaExecutor:
        assert isinstance(self.stage, NfaExecutor)
        return self.stage

    # ── limits ──

    def _note(self) -> None:
        """Puts down what the limits have done."""
        stage, ledger = self.stage, self.feed.ledger
        assert stage is not None
        for number, lane, most in stage.refusals:
            if number in self.members:
                key = {} if lane < 0 else dict(self.feed.keys[lane])
                ledger.refuse(self.members[number].checked.name, key, most)
        for number, count in stage.dropped.items():
            if number in self.members:
                ledger.drop(self.members[number].checked.name, count)
        stage.refusals, stage.dropped = [], {}

    def _without_refused(self, stage: NfaExecutor | ArrivalExecutor, found: RawMatches) -> RawMatches:
        """Without what a refused lane brought from the event on that was too much."""
        owner = stage.machine.owners[found.state] if isinstance(stage, NfaExecutor) else np.zeros(len(found), np.int64)
        # What time completes has no last event; of a refused subscription it began before or after that event.
        position = np.where(found.position < 0, found.first, found.position)
        keep = np.ones(len(found), np.bool_)
        for number in self.members:
            lanes = {lane: since for (member, lane), since in stage.refused.items() if member == number}
            if lanes:
                until = np.full(len(self.feed.lanes), np.iinfo(np.int64).max)
                until[list(lanes)] = list(lanes.values())
                keep &= (owner != number) | (position < until[found.lane])
        return found.only(keep)

    # ── state ──

    def state(self) -> dict[str, Any]:
        if self.stage is not None:
            self.settle()
        return {
            "kind": self.kind.value,
            "joined": [self._called(number) for number in range(len(self.joined))],
            "moves": self.moves,
            "members": {str(number): member.state() for number, member in self.members.items()},
            "stage": None if self.stage is None else self.stage.state(),
            "rows": None if self.rows is None else self.rows.since,
            "watcher": kept(self.watcher),
            "standing": None if self.standing is None else self.standing.state(),
            "past": None if self.excluded is None else self.excluded.past,
        }

    def _called(self, number: int) -> list[str | None]:
        """The name of a member; of one that went the text too, as nobody else has it any more."""
        checked = self.joined[number]
        return [checked.name, None if number in self.members else statement_text(checked.tree)]

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, after the same have come and gone."""
        if state["stage"] is not None:
            self.settle()
            assert self.stage is not None
            if self.looking is not None:  # it has seen the same
                self.looking.restore(deepcopy(state["stage"]))
            self.stage.restore(state["stage"])
            self.feed.ledger.held[id(self.stage)] = self.stage.alive
        for number, member in self.members.items():
            member.restore(state["members"][str(number)])
        go_on(self.watcher, state.get("watcher"))
        if self.standing is not None and state.get("standing") is not None:
            self.standing.restore(state["standing"])
        if self.excluded is not None:
            # At first it was kept there.
            past = state["past"] if "past" in state else (state.get("standing") or {}).get("past")
            self.excluded.past = self.excluded.past if past is None else past

    @property
    def looks_between(self) -> bool:
        """Whether finished matches are asked about events that they have not bound."""
        return any(m.program.leading or m.program.deferred or m.program.remembers for m in self.members.values())

    def referenced(self) -> Ints:
        """The positions of the events that partial matches, and those that wait to be told, speak of."""
        waiting = [told.bound_events.position for m in self.members.values() for told in m.waiting]
        held = [one.referenced() for one in (self.stage, self.standing) if one is not None]
        return np.concatenate([np.zeros(0, np.int64), *waiting, *held])

    @property
    def oldest(self) -> int | None:
        """The earliest event that a partial match, or one that waits to be told, speaks of."""
        found = [m.oldest for m in self.members.values()]
        found += [one.oldest for one in (self.stage, self.standing) if one is not None]
        return min((o for o in found if o is not None), default=None)
