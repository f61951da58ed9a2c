"""What is seen of partial matches: after each event where they stand, whatever the pattern and the batches."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch
from foretell.filter.string_dictionary import StringDictionary
from foretell.forecast.online.event_symbols import EventSymbols
from foretell.forecast.training.trace_recorder import TraceRecorder
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.learn.trace import Trace
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.observer import Observer, state_bits, steps_to_match
from foretell.plan.match_plan import StatementPlan
from foretell.plan.prefix_sharing import SharedNfa
from tests.engine_pair import EnginePair
from tests.properties.patterns import Case, cases

quick = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class Everyone:
    """Watches all subscriptions, whether they ask for forecasts or not."""

    def __init__(self) -> None:
        self.made: dict[str, list[TraceRecorder]] = {}

    def observes(self, _: CheckedSubscription) -> bool:
        return True

    def observer(self, statement: StatementPlan) -> Observer | None:
        recorder = TraceRecorder(EventSymbols([]), statement.subscription.time)
        self.made.setdefault(statement.name, []).append(recorder)
        return recorder

    def attributes(self, _: CheckedSubscription) -> set[str]:
        return set()


#: The results of a run, and the traces of each subscription.
Observed = tuple[list[ResultBatch], dict[str, list[Trace]]]


def observe(both: EnginePair, batches: Iterable[Mapping[str, EventBatch]]) -> Observed:
    everyone = Everyone()
    running = start_runtime(both.checked, both.given, observers=everyone)
    notified = [item for batch in batches for item in running.process(batch, both.until)]
    return notified, {name: [recorder.record().trace for recorder in group] for name, group in everyone.made.items()}


def both_of(trial: Case) -> EnginePair:
    try:
        return EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
    except ft.ForetellError:
        assume(False)
        raise


@quick
@given(cases())
def test_what_becomes_a_match_is_seen_before(trial: Case) -> None:
    """From the first event of a match to the last but one there is a partial match in its process."""
    both = both_of(trial)
    notified, traces = observe(both, [both.loaded])
    statements = {s.name: s for s in both.checked.statements if isinstance(s, CheckedSubscription)}
    for found in notified:
        checked, matches = statements[found.schema.name], found.matches
        if matches is None or checked.tree.table is not None or len(traces[checked.name]) != 1:
            continue
        (trace,) = traces[checked.name]
        held = checked.tree.after.policy is tree.Policy.HOLD
        for i in range(len(found) if held else 0):
            first, last = int(matches.first[i]), int(matches.last[i])
            rows = np.arange(first, last)
            mine = rows[trace.process[rows] == trace.process[first]]
            assert (trace.state[mine] != 0).all(), (checked.name, first, last, trace.state[mine])


@quick
@given(cases(), st.lists(st.integers(0, 100), max_size=4))
def test_it_does_not_hang_on_batches(trial: Case, cuts: list[int]) -> None:
    both = both_of(trial)
    _, whole = observe(both, [both.loaded])
    _, cut = observe(both, both.cut_at(cuts))
    for name, group in whole.items():
        if any(name in s.tree.streams or set(s.tree.streams) & set(whole) for s in both.checked.statements):
            continue  # derived events come in the order of the batches
        for one_way, another in zip(group, cut[name], strict=True):
            assert one_way.state.tolist() == another.state.tolist()
            assert one_way.ordinal.tolist() == another.ordinal.tolist()


# ── by hand ──


def trace_of(statement: str, kinds: str, times: Iterable[int] | None = None) -> Trace:
    times = range(len(kinds)) if times is None else times
    events = [{"time": t, "k": k} for t, k in zip(times, kinds)]
    both = EnginePair(f"STREAM s (k STRING, time INT) TIME time; SUBSCRIBE p FROM s {statement}", {"s": events})
    return observe(both, [both.loaded])[1]["p"][0]


STEPS = "DEFINE a AS k = 'a', b AS k = 'b', c AS k = 'c'"


@pytest.mark.parametrize(
    ("pattern", "kinds", "states"),
    [
        ("a , b , c", "aabxabc", [1, 1, 2, 0, 1, 2, 0]),
        ("a ; b ; c", "axbbc", [1, 1, 3, 3, 3]),
        ("a ;{k != 'x'} b ;{k != 'x'} c", "axbxcab", [1, 1, 2, 2, 0, 1, 2]),
        ("a , (b | c)", "aba", [1, 0, 1]),
    ],
)
def test_states_are_numbered_towards_the_match(pattern: str, kinds: str, states: list[int]) -> None:
    assert trace_of(f"MATCH {pattern} {STEPS}", kinds).state.tolist() == states


@pytest.mark.parametrize("steps", [3, 7, 70])
def test_the_nearer_to_a_match_the_higher_the_bit(steps: int) -> None:
    """Also of machines that have more states than there are bits, in breadth or in length."""
    names = [f"s{i}" for i in range(steps)]
    pattern = " , ".join(names) if steps > 8 else " & ".join(names)
    defined = ", ".join(f"{name} AS k = '{name}'" for name in names)
    text = f"STREAM s (k STRING, time INT) TIME time; SUBSCRIBE p FROM s MATCH {pattern} DEFINE {defined}"
    (checked,) = EnginePair(text, {"s": []}).checked.statements
    assert isinstance(checked, CheckedSubscription)
    shared, _ = SharedNfa.empty(StringDictionary().code, checked.simultaneous, checked.time).joined_by(checked)
    machine = shared.compiled
    bits, left = state_bits(machine), np.array(steps_to_match(machine))
    waiting = bits > 0
    assert waiting.sum() == (steps - 1 if steps > 8 else 2**steps - 2)
    by_distance = [bits[waiting & (left == n)] for n in range(steps - 1, 0, -1)]
    for further, nearer in itertools.pairwise(by_distance):
        assert further.max() < nearer.min() or nearer.max() == 1 << 63
    assert len(np.unique(bits[waiting])) > min(waiting.sum(), 64) * 0.8


def test_a_window_ends_partial_matches() -> None:
    assert trace_of(f"MATCH a ; b ; c {STEPS} WITHIN 5", "axxx", [0, 3, 5, 6]).state.tolist() == [1, 1, 1, 0]


def test_a_time_condition_that_cannot_be_met_any_more_ends_them_too() -> None:
    found = trace_of(f"MATCH a ; b ; c @(t(c) - t(a) < 5) {STEPS}", "abxxx", [0, 1, 3, 4, 5])
    assert found.state.tolist() == [1, 3, 3, 3, 0]


@pytest.mark.parametrize(
    ("policy", "states"),
    [
        ("HOLD", [1, 3, 3, 3, 3, 3, 3]),
        ("SKIP PAST LAST", [1, 3, 0, 0, 0, 1, 3]),
        ("SKIP TO LAST a", [1, 3, 3, 3, 3, 3, 3]),
        ("SKIP TO FIRST b", [1, 3, 0, 0, 0, 1, 3]),
    ],
)
def test_what_a_match_excludes_is_not_seen(policy: str, states: list[int]) -> None:
    assert trace_of(f"MATCH a ; b ; c {STEPS} AFTER MATCH {policy}", "abcbcab").state.tolist() == states


#: The same on arrival lists and, for the condition between two steps, with instances.
BOTH_WAYS = [STEPS, STEPS.replace("k = 'b'", "k = 'b' AND a.k = 'a'")]


@pytest.mark.parametrize("steps", BOTH_WAYS)
@pytest.mark.parametrize(
    ("policy", "states"),
    [
        ("HOLD", [1, 1, 3, 3, 3, 3]),
        ("CONSUME", [1, 1, 3, 1, 3, 0]),  # the second a is left for the second c
        ("SKIP TO NEXT", [1, 1, 3, 0, 0, 0]),  # each a has had its match
        ("SKIP PAST LAST", [1, 1, 3, 0, 0, 0]),
    ],
)
def test_what_a_match_excludes_is_not_seen_by_any_engine(steps: str, policy: str, states: list[int]) -> None:
    assert trace_of(f"MATCH a ; b ; c {steps} AFTER MATCH {policy}", "aabcbc").state.tolist() == states


@pytest.mark.parametrize(("policy", "left"), [("HOLD", 3), ("CONSUME", 1), ("SKIP TO NEXT", 0)])
def test_events_of_repeated_steps_are_spent_too(policy: str, left: int) -> None:
    """Of two `a` the second is left, but not with the `b` of the first match."""
    found = trace_of(f"MATCH a ; b+<;> ; c {STEPS} AFTER MATCH {policy}", "aabc")
    assert (found.state[-1] & 1, found.state[-1] > 1) == (left & 1, left > 1)


def test_models_and_reports_list_subscriptions_in_the_order_of_the_program() -> None:
    """Whichever of them share an input."""
    lanes = {"p": "PER k", "q": "", "r": "PER k"}
    forecast = "FORECAST WITHIN 2 EVENTS ABOVE 0.5"
    text = "\n".join(f"SUBSCRIBE {name} FROM s {per} MATCH a , b {forecast};" for name, per in lanes.items())
    inputs = {"s": [{"time": n, "k": "x"} for n in range(9)]}
    model = ft.train(text, inputs, time={"s": "time"}, engine="embedded")
    assert list(model.subscriptions) == ["p", "q", "r"]
    report = ft.backtest(text, inputs, model=model, time={"s": "time"})
    assert [card.subscription for card in report.scorecards] == ["p", "q", "r"]


def test_events_that_complete_a_match_are_marked() -> None:
    assert trace_of(f"MATCH a , b , c {STEPS}", "abcabxabc").matched.nonzero()[0].tolist() == [2, 8]


def test_a_match_that_time_completes_counts_with_the_next_event() -> None:
    found = trace_of(f"MATCH a ; !b {STEPS.replace(', c AS k = ' + repr('c'), '')} WITHIN 5", "axxx", [0, 3, 6, 9])
    assert found.matched.tolist() == [False, False, True, False]


def test_many_random_streams_leave_the_same_trace_alone_and_together() -> None:
    """Lanes do not see each other."""
    chance = random.Random(3)
    events = [{"time": t, "k": chance.choice("abc"), "l": chance.choice("xy")} for t in range(400)]
    text = f"STREAM s (k STRING, l STRING, time INT) TIME time; SUBSCRIBE p FROM s PER l MATCH a , b , c {STEPS}"
    both = EnginePair(text, {"s": events})
    (together,) = observe(both, [both.loaded])[1]["p"]
    for number, lane in enumerate(dict.fromkeys(e["l"] for e in events)):
        mine = EnginePair(text, {"s": [e for e in events if e["l"] == lane]})
        (alone,) = observe(mine, [mine.loaded])[1]["p"]
        assert together.state[together.process == number].tolist() == alone.state.tolist()
