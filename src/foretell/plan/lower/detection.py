"""Single-step detection: at which places partial matches wait for a predicate, and which events bring them there.

A predicate that only a later step needs is not evaluated until an earlier step has happened, and no longer once the
window has passed (A-MEDIAS, section 7.3, Algorithm 7.3). Here a place takes the part of the paper's auxiliary profile:
a state of an NFA, or a step of arrival lists before the step that is waited for. Its openers are the predicates of the
events that bring a partial match there. The analysis may take a place to be open where it is not, never the reverse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from foretell.language import tree
from foretell.machine.kernels import layout
from foretell.plan.expressions import Disjunction, EveryNth, ProfileSatisfied, RowSelected
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.condition_costs import nanoseconds
from foretell.plan.lower.program import CompiledNfa
from foretell.plan.shapes import DetectionShape
from foretell.plan.strategy import Decision, Kernel, choose_detection
from foretell.records import record


@record
class WaitingPlace:
    """A place where partial matches wait, and the `predicates` that are evaluated for the events they wait for.

    `state` is that of an NFA whose lists tell in which lanes runs wait; None where the number of partial matches of the
    lane tells it. A place that an event has opened is open `within` after the event's start (None: for good), or for
    the `next_only` event of the lane.
    """

    openers: tuple[int, ...]
    predicates: tuple[int, ...]
    within: int | float | None
    state: int | None = None
    next_only: bool = False


@record
class Detection:
    """The predicates that are evaluated at places alone, and the places in the order in which events come to them."""

    choice: Decision[frozenset[int]]
    places: tuple[WaitingPlace, ...] = ()

    @property
    def single_step(self) -> frozenset[int]:
        """The predicates that are evaluated only where a partial match waits for them."""
        return self.choice.value


@record
class _NfaPlaces:
    """The predicates that each state of an NFA asks of an event, and how runs come to it."""

    nfa: CompiledNfa
    levels: dict[int, int] = field(default_factory=dict)  # the fewest edges to each state
    entries: defaultdict[int, list[tuple[int | None, int]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, nfa: CompiledNfa) -> _NfaPlaces:
        places, tables = cls(nfa), nfa.tables
        reached: list[int | None] = [None]
        while reached:
            source = reached.pop(0)
            for edge in _edges_from(nfa, source):
                predicate, target = int(tables.edges[edge, layout.EDGE_PREDICATE]), _target(nfa, edge)
                places.entries[target].append((source, predicate))
                if target not in places.levels:
                    places.levels[target] = 0 if source is None else places.levels[source] + 1
                    if not tables.edges[edge, layout.EDGE_FINAL]:
                        reached.append(target)
        return places

    @property
    def starting(self) -> tuple[int, ...]:
        """The predicates of events that begin a match."""
        edges = self.nfa.tables.edges
        return tuple(dict.fromkeys(int(edges[e, layout.EDGE_PREDICATE]) for e in _edges_from(self.nfa, None)))

    @property
    def waiting(self) -> list[int]:
        """The states at which runs wait, in the order in which they are reached."""
        waiting = set(self.nfa.waiting.tolist())
        return sorted((state for state in self.levels if state in waiting), key=lambda state: self.levels[state])

    def asked_at(self, state: int) -> set[int]:
        """The predicates that a run at a state asks of an event: of its edges, operators, negations and counters."""
        tables = self.nfa.tables
        cells = tables.states[state].astype(int)
        threads = range(cells[layout.STATE_THREADS], cells[layout.STATE_THREADS_STOP])
        asked = {int(tables.edges[e, layout.EDGE_PREDICATE]) for e in _edges_from(self.nfa, state)}
        for thread in tables.threads[threads.start : threads.stop].astype(int):
            asked.add(int(thread[layout.THREAD_GUARD]))
            negations = tables.negations[thread[layout.THREAD_NEGATIONS] : thread[layout.THREAD_NEGATIONS_STOP]]
            asked |= set(negations[:, layout.NEGATION_GUARD].astype(int).tolist())
        ticks = tables.ticks[cells[layout.STATE_TICKS] : cells[layout.STATE_TICKS_STOP]]
        asked |= set(ticks[:, layout.TICK_GUARD].astype(int).tolist())
        touch = int(cells[layout.STATE_TOUCH])
        return {p for p in asked | {touch} if p != int(layout.NONE)}

    def place(self, state: int, predicates: Iterable[int]) -> WaitingPlace:
        """A state as a place. Where a loop leads to it, any event that begins a match opens it."""
        entries, tables = self.entries[state], self.nfa.tables
        in_order = all(
            predicate != int(layout.NONE) and (source is None or self.levels[source] < self.levels[state])
            for source, predicate in entries
        )
        openers = tuple(dict.fromkeys(predicate for _, predicate in entries)) if in_order else self.starting
        within = tables.state_within[state].item()
        return WaitingPlace(
            openers=openers,
            predicates=tuple(sorted(predicates)),
            within=None if within < 0 else within,
            state=None if self._keyed(state) or self.nfa.strict else state,
            next_only=in_order and self.nfa.strict,
        )

    def _keyed(self, state: int) -> bool:
        return int(self.nfa.tables.states[state, layout.STATE_KEY]) != int(layout.NONE)


def detection_of_nfa(nfa: CompiledNfa, lazy: Iterable[int] | None = None) -> Detection:
    """How the predicates of an NFA are evaluated; `lazy` are those to evaluate at places in place of the choice."""
    places = _NfaPlaces.of(nfa)
    asked = {state: places.asked_at(state) for state in places.waiting}
    starting = places.starting
    later = frozenset().union(*asked.values()) - set(starting)
    candidates = {number for number in later if _may_wait(nfa.predicates[number])}
    shape = DetectionShape(
        nanoseconds={number: nanoseconds(nfa.predicates[number]) for number in candidates},
        hindrance=_hindrance(nfa, starting),
    )
    choice = _chosen(shape, candidates, lazy)
    made = (places.place(state, asked[state] & choice.value) for state in places.waiting)
    return Detection(choice, tuple(place for place in made if place.predicates))


def detection_of_arrivals(plan: ArrivalPlan, lazy: Iterable[int] | None = None) -> Detection:
    """The same for arrival lists, whose predicates are those of the steps and then of the negated steps."""
    steps = len(plan.steps)
    candidates = {number for number in range(1, len(plan.predicates)) if _may_wait(plan.predicates[number])}
    shape = DetectionShape(
        nanoseconds={number: nanoseconds(plan.predicates[number]) for number in candidates},
        hindrance=None if plan.predicates[0] else _BEGINS_EVERYWHERE,
    )
    choice = _chosen(shape, candidates, lazy)
    waits: defaultdict[int, list[int]] = defaultdict(list)
    for number in sorted(choice.value):
        waits[number - 1 if number < steps else plan.gaps[number - steps].after].append(number)
    within = plan.program.subscription.within
    places = (WaitingPlace((after,), tuple(numbers), within) for after, numbers in sorted(waits.items()))
    return Detection(choice, tuple(places))


def _chosen(shape: DetectionShape, candidates: set[int], lazy: Iterable[int] | None) -> Decision[frozenset[int]]:
    choice = choose_detection(shape)
    if lazy is None or shape.hindrance is not None:
        return choice
    return choice.instead(frozenset(candidates) & frozenset(lazy))


def _may_wait(conditions: Sequence[tree.Expression]) -> bool:
    """Whether a predicate can be evaluated for a part of a batch: it counts no events, and has conditions."""
    return bool(conditions) and not any(
        isinstance(c, Disjunction | EveryNth | ProfileSatisfied | RowSelected) for c in conditions
    )


_BEGINS_EVERYWHERE = "every event begins a match, so partial matches wait everywhere"


def _hindrance(nfa: CompiledNfa, starting: Sequence[int]) -> str | None:
    if int(layout.NONE) in starting:
        return _BEGINS_EVERYWHERE
    if nfa.tables.simultaneous:
        return "simultaneous events wait for their instant to end"
    if nfa.kernel.kernel.value in (Kernel.LONGEST, Kernel.LONGEST_GENERAL):
        return "LONGEST ends partial matches that its lists still have"
    return None


def _edges_from(nfa: CompiledNfa, state: int | None) -> Iterator[int]:
    if state is None:
        return iter(nfa.tables.starts.astype(int).tolist())
    cells = nfa.tables.states[state]
    return iter(range(int(cells[layout.STATE_EDGES]), int(cells[layout.STATE_EDGES_STOP])))


def _target(nfa: CompiledNfa, edge: int) -> int:
    return int(nfa.tables.edges[edge, layout.EDGE_TARGET])
