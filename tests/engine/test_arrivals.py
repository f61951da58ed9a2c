"""Arrival lists against the reference: random `;` sequences, cut anywhere, written down and read back in between."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell import parse
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedSubscription
from foretell.machine import nfa_group
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import HeldEvents
from foretell.plan import strategy
from foretell.plan.arrival_hindrances import arrival_hindrance
from foretell.plan.explain import as_text, explain
from foretell.plan.lower.arrival_analysis import analyse_sequence
from foretell.plan.lower.arrivals import lower_arrivals
from foretell.plan.strategy import Decision, Executor
from foretell.plan.strategy import choose_executor as original
from tests.engine_pair import EnginePair, comparable_rows
from tests.properties import patterns
from tests.properties.patterns import Case, Chance, Maker, Node, Step, case


class Later(Maker):
    """Draws sequences of single steps under `;`, often with a variable in all of them."""

    shared = ""

    def whole(self, depth: int) -> Node:
        return self.pattern(depth)

    def pattern(self, depth: int, *, repeated: bool = False, edge: bool = False) -> Node:
        count = self.number(2, 4)
        steps = [Node(self.pick("step", "step", "step", "first", "last"), name=self.named()) for _ in range(count)]
        absent = [self.absent(8), *(self.absent(20) for _ in steps[1:]), ()]
        self.shared = self.pick("", "", "v", "kind", "w")
        return Node("sequence", tuple(steps), operators=("", *";" * (count - 1)), absent=tuple(absent))

    def definition(self, step: Step) -> str:
        mine = super().definition(step)
        if not self.shared or (step.negated and self.maybe(30)):
            return mine
        return f"({mine}) AND {self.shared} = $s" if mine else f"$s = {self.shared}"


class Interrupted(ArrivalExecutor):
    """Forgets all but its state before every batch, and has hardly any room."""

    def process(self, segment: EventSegment, lane_count: int, now: int | float) -> RawMatches:
        held = HeldEvents(0, segment.end, np.zeros(0, np.bool_), np.zeros(0, np.int64))
        bounds = StateBounds(lane_count, segment.end, 2 * segment.end, 2**20, held)
        other = ArrivalExecutor(self.plan, self.strings, self.parameters, self.selection, capacity=1, most=2)
        other.restore(self.state(), bounds)
        found = other.process(segment, lane_count, now)
        self.restore(other.state(), bounds)
        return found


def wherever_possible(monkeypatch: pytest.MonkeyPatch, kind: type[ArrivalExecutor] = ArrivalExecutor) -> None:
    """Arrival lists also where they do not pay."""

    def choose_executor(
        subscription: CheckedSubscription, template: strategy.TemplateMode | None = None
    ) -> Decision[Executor]:
        chosen = original(subscription, template)
        possible = chosen.value is Executor.NFA and arrival_hindrance(subscription) is None
        possible = possible and template is not strategy.TemplateMode.SHARED_RUNS
        possible = possible and not strategy.is_longest(subscription)
        return Decision(Executor.ARRIVALS, "wherever possible") if possible else chosen

    monkeypatch.setattr(strategy, "choose_executor", choose_executor)
    monkeypatch.setattr(nfa_group, "ArrivalExecutor", kind)


def drawn(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Case, EnginePair] | None:
    monkeypatch.setattr(patterns, "Maker", Later)
    trial = case(Chance(random.Random(seed).randint))
    try:
        return trial, EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
    except ft.ForetellError:
        return None


def embedded(both: EnginePair) -> list[tuple[Any, ...]]:
    return comparable_rows(both.embedded())


def test_they_say_what_the_reference_says(monkeypatch: pytest.MonkeyPatch) -> None:
    tally: Counter[str] = Counter()
    wherever_possible(monkeypatch)
    for seed in range(150):
        found = drawn(seed, monkeypatch)
        if found is None or len(message := embedded(found[1])) > 200:
            continue
        assert message == comparable_rows(found[1].reference()), found[0]
        for statement in found[1].checked.statements:
            assert isinstance(statement, CheckedSubscription)
            if arrival_hindrance(statement) is None:
                conditions = analyse_sequence(statement)
                tally.update(["arrivals"] + ["keyed"] * bool(conditions.keys) + ["absent"] * bool(conditions.gaps))
        tally["matches"] += bool(message)
    assert tally["arrivals"] > 60, tally
    assert min(tally["keyed"], tally["absent"], tally["matches"]) > 15, tally


def test_batches_may_be_cut_anywhere_and_state_be_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(400, 550):
        found = drawn(seed, monkeypatch)
        if found is None:
            continue
        wherever_possible(monkeypatch)
        whole = embedded(found[1])
        if len(whole) > 1000:
            continue
        wherever_possible(monkeypatch, Interrupted)
        cuts = random.Random(seed).choices(range(30), k=4) if seed % 2 else list(range(31))
        pieces = found[1].embedded_in_batches(found[1].cut_at(cuts))
        assert Counter(comparable_rows(pieces)) == Counter(whole), found[0]


# ── memory ──

DEFINED = "DEFINE a AS kind = 'a', b AS kind = 'b', c AS kind = 'c'"
SHARED = "DEFINE a AS kind = 'a' AND v = $x, b AS kind = 'b' AND v = $x, c AS kind = 'c' AND v = $x"


def made(text: str, *, capacity: int = 1024, most: int = 65_536) -> ArrivalExecutor:
    (item,) = (
        parse(f"STREAM s (time INT, kind STRING, v INT) TIME time; SUBSCRIBE m FROM s {text};").checked().statements
    )
    assert isinstance(item, CheckedSubscription)
    strings = StringDictionary(["a", "b", "c"])
    return ArrivalExecutor(lower_arrivals(item, strings.code), strings, capacity=capacity, most=most)


def batch(arrivals: ArrivalExecutor, kinds: str, first: int, values: int = 1, now: int | None = None) -> Any:
    """One event for each letter, one a moment; then time goes on until `now`."""
    count = len(kinds)

    def column(kind: Type, group: list[int]) -> Column:
        return Column(kind, np.array(group, np.int64), np.zeros(count, np.bool_))

    time = column(Type.INT, list(range(first, first + count)))
    attributes = {
        "kind": column(Type.STRING, [arrivals.strings.code(k) for k in kinds]),
        "v": column(Type.INT, [i // values for i in range(first, first + count)]),
    }
    types = {"kind": Type.STRING, "v": Type.INT}
    events = EventColumns(attributes, types, time, time, column(Type.STRING, [0] * count))
    places = np.zeros(count, np.int64)
    piece = EventSegment(first, events, places, places, None, places.reshape(-1, 1))
    return piece, 1, first + count - 1 if now is None else now


def test_what_the_window_has_left_is_forgotten() -> None:
    arrivals = made(f"MATCH a ; b ; c {DEFINED} WITHIN 50", capacity=1)
    for first in range(0, 60_000, 600):
        arrivals.process(*batch(arrivals, "abc" * 200, first))
        assert len(arrivals) <= 51
        assert arrivals.oldest is not None
        assert arrivals.oldest >= first + 600 - 51
    assert arrivals.ring.size <= 128


def test_time_alone_empties_them() -> None:
    arrivals = made(f"MATCH a ; b ; c {DEFINED} WITHIN 50")
    arrivals.process(*batch(arrivals, "ab", 0, now=50))
    assert len(arrivals) == 2
    arrivals.process(*batch(arrivals, "", 2, now=51))
    assert (len(arrivals), arrivals.oldest) == (0, None)


def test_keys_that_went_quiet_are_forgotten() -> None:
    arrivals = made(f"MATCH a ; b ; c {SHARED} WITHIN 50", capacity=1)
    for first in range(0, 60_000, 600):
        found = arrivals.process(*batch(arrivals, "abc" * 200, first, values=3))
        assert len(found) == 200
    assert len(arrivals.lists.heads) <= 1200


def test_what_nothing_precedes_is_not_kept() -> None:
    arrivals = made(f"MATCH a ; b ; c {DEFINED} WITHIN 50")
    arrivals.process(*batch(arrivals, "b" * 40 + "c" * 40, 0))
    assert len(arrivals) == 0


def test_one_event_may_complete_more_matches_than_fit_at_once() -> None:
    arrivals = made(f"MATCH a ; b ; c {DEFINED}", most=1000)
    found = arrivals.process(*batch(arrivals, "a" * 100 + "b" * 100 + "c", 0))
    assert len({tuple(row) for row in found.slots.tolist()}) == len(found) == 10_000


# ── the choice ──


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (
            "a ; b DEFINE b AS v > a.v",
            "arrival lists: every operator is `;`, so partial combinations need not be copied",
        ),
        ("a ; !x ; b", "arrival lists: every operator is `;`, so partial combinations need not be copied"),
        (
            "a ; b ; c DEFINE a AS v = $x, b AS v = $x AND kind <> a.kind, c AS v = b.v",
            "arrival lists: every operator is `;` and all steps share `v`, which finds the list",
        ),
        (
            "a ; b ; c DEFINE b AS v > a.v",
            "NFA: a condition between `a` and `b` drops combinations before `c` arrives",
        ),
        ("a ; b+", "NFA: `b` repeats"),
        ("a ; (b ; c)+", "NFA: a group repeats"),
        ("a , b ; c", "NFA: `,` takes only the very next event"),
        ("a ;{v > 1} b", "NFA: `;{θ}` takes only the first event for which θ holds"),
        ("a ; b[2]", "NFA: `b[2]` counts events"),
        ("a ; (b | c)", "NFA: `|` continues in several ways"),
        ("a & b", "NFA: `&` takes its sides in any order"),
        ("a ; !x ; b DEFINE x AS v > a.v", "NFA: `!x` compares with events of the match"),
        ("a ; !b WITHIN 5", "NFA: one step alone has no partial combinations"),
        ("a ; b ; !c WITHIN 5", "NFA: `!c` at the end is decided only when time has passed"),
        ("a", "NFA: one step alone has no partial combinations"),
    ],
)
def test_which_strategy_is_chosen_and_why(pattern: str, why: str) -> None:
    text = f"STREAM s (time INT, kind STRING, v INT) TIME time; SUBSCRIBE m FROM s MATCH {pattern};"
    (statement,) = parse(text).checked().statements
    assert isinstance(statement, CheckedSubscription)
    chosen = original(statement)
    assert f"{chosen.value.value}: {chosen.why}" == why
    assert chosen.why in as_text(explain(statement))
