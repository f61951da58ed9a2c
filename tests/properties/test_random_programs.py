"""The compiled engine against the reference on random programs and streams, whole and in batches."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.machine.exec import batch_columns, run_pool
from foretell.machine.input.merged_stream import MergedStream
from foretell.plan.nfa import automaton
from foretell.plan.nfa.counters import PatternCounters
from tests.engine_pair import EnginePair, comparable_rows
from tests.plan.test_gathered_sequences import gather_sequences
from tests.properties.patterns import MOST_DERIVED, Case, Chance, case, case_of_lanes, cases

quick = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
long = settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))


def _both(trial: Case) -> EnginePair | None:
    """None for a text that is none, and for what the reference would take too long for."""
    try:
        both = EnginePair(trial.text, trial.streams, tables=trial.tables, until=trial.until)
    except ft.ForetellError:
        return None
    return None if _is_costly(both) else both


def _is_costly(both: EnginePair) -> bool:
    """Whether a statement reads very many derived events; how many there are, the compiled engine says quickly."""
    read = {name for s in both.checked.statements for name in s.tree.streams}
    counts = Counter(n.subscription for n in both.embedded())
    return any(count > MOST_DERIVED for name, count in counts.items() if name in read)


def _agrees(trial: Case) -> None:
    both = _both(trial)
    assume(both is not None)
    assert both is not None
    embedded = both.embedded()
    event("with matches" if embedded else "without matches")
    assert comparable_rows(embedded) == comparable_rows(both.reference())


def _agrees_in_batches(trial: Case, cuts: list[int]) -> None:
    both = _both(trial)
    assume(both is not None)
    assert both is not None
    pieces = both.embedded_in_batches(both.cut_at(cuts))
    assert Counter(comparable_rows(pieces)) == Counter(comparable_rows(both.embedded()))


def _count_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(automaton, "MOST_FINE_STATES", 0)
    patch.setattr(PatternCounters, "are_many", lambda counters, states: True)


@quick
@given(cases())
def test_it_says_what_the_reference_says(trial: Case) -> None:
    _agrees(trial)


@settings(quick, max_examples=80)
@given(cases())
def test_counters_say_what_states_say(trial: Case) -> None:
    """Also where a pattern is so small that its states would do."""
    with pytest.MonkeyPatch.context() as patch:
        _count_everything(patch)
        _agrees(trial)


@settings(quick, max_examples=80)
@given(cases())
def test_gathered_sequences_say_what_states_say(one: Case) -> None:
    """The same, and sides of `&` that are sequences have no states of their own."""
    with pytest.MonkeyPatch.context() as patch:
        _count_everything(patch)
        gather_sequences(patch)
        _agrees(one)


@quick
@given(cases(), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_batches_may_be_cut_anywhere(trial: Case, cuts: list[int]) -> None:
    _agrees_in_batches(trial, cuts)


def test_every_event_may_come_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all that can be forgotten is, after each."""
    monkeypatch.setattr(MergedStream, "crowded", True)
    for seed in range(200):
        trial = case(Chance(random.Random(seed).randint))
        both = _both(trial)
        if both is not None:
            alone = both.embedded_in_batches(both.cut_at(list(range(31))))
            assert Counter(comparable_rows(alone)) == Counter(comparable_rows(both.embedded()))


def test_events_visit_the_states_that_have_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an NFA of very many states."""
    monkeypatch.setattr(run_pool, "MOST_VISITED", 0)
    for seed in range(1_000, 1_200):
        chance = random.Random(seed)
        both = _both(case(Chance(chance.randint)))
        if both is not None:
            cuts = sorted(chance.randint(0, 30) for _ in range(chance.randint(1, 12)))
            parts = both.embedded_in_batches(both.cut_at(cuts))
            assert Counter(comparable_rows(parts)) == Counter(comparable_rows(both.reference()))


def test_arrays_for_kernels_serve_batches_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept, grow, and are made for one batch alone where it is long."""
    monkeypatch.setattr(batch_columns, "LEAST_KEPT", 1)
    monkeypatch.setattr(batch_columns, "MOST_KEPT", 4)
    for seed in range(150):
        chance = random.Random(seed)
        trial = case(Chance(chance.randint))
        both = _both(trial)
        if both is not None:
            cuts = sorted(chance.randint(0, 30) for _ in range(chance.randint(1, 12)))
            parts = both.embedded_in_batches(both.cut_at(cuts))
            assert Counter(comparable_rows(parts)) == Counter(comparable_rows(both.embedded()))


def _agrees_in_lanes(seed: int, lanes: int) -> None:
    """A statement of a focus on many short lanes: against the reference, and each instant in a batch of its own."""
    trial = case_of_lanes(Chance(random.Random(seed).randint), lanes)
    try:
        both = EnginePair(trial.text, trial.streams, until=trial.until)
    except ft.ForetellError:
        return
    embedded = comparable_rows(both.embedded())
    assert embedded == comparable_rows(both.reference()), trial
    times = [row["time"] for row in trial.streams["s"]]
    by_instant = both.embedded_in_batches(both.cut_at(times.index(time) for time in set(times)))
    assert Counter(comparable_rows(by_instant)) == Counter(embedded), trial


def _takes_nothing_back(seed: int, lanes: int) -> None:
    """What the reference says of the beginning of an input it says of the whole. LONGEST takes its end for an end."""
    trial = case_of_lanes(Chance(random.Random(seed).randint), lanes)
    rows, half = trial.streams["s"], trial.streams["s"][: len(trial.streams["s"]) // 2]
    if "LONGEST" in trial.text:
        return
    try:
        whole, begun = (EnginePair(trial.text, {"s": group}).reference() for group in (rows, half))
    except ft.ForetellError:
        return
    assert not Counter(comparable_rows(begun)) - Counter(comparable_rows(whole)), trial


def test_a_longer_run_takes_nothing_back() -> None:
    for seed in range(300):
        _takes_nothing_back(seed, lanes=4)


@pytest.mark.parametrize("part", range(2))
def test_a_focus_on_many_lanes(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        _agrees_in_lanes(seed, lanes=8)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(16))
def test_a_focus_on_many_lanes_for_long(part: int) -> None:
    for seed in range(2000 * part, 2000 * part + 2000):
        _agrees_in_lanes(seed, lanes=16)


def test_few_programs_are_refused() -> None:
    """What is drawn must be worth drawing: most of it runs, and much of it matches."""
    tally: Counter[str] = Counter()
    for seed in range(300):
        both = _both(case(Chance(random.Random(seed).randint)))
        if both is None:
            tally["refused"] += 1
            continue
        tally["matches" if both.embedded() else "no matches"] += 1
    assert tally["matches"] > 110
    assert tally["refused"] < 45


@pytest.mark.soak
@pytest.mark.timeout(0)
@long
@given(cases())
def test_it_says_what_the_reference_says_for_long(trial: Case) -> None:
    _agrees(trial)


@pytest.mark.soak
@pytest.mark.timeout(0)
@long
@given(cases(), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_counters_say_what_states_say_for_long(trial: Case, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _count_everything(patch)
        _agrees(trial)
        _agrees_in_batches(trial, cuts)


@pytest.mark.soak
@pytest.mark.timeout(0)
@long
@given(cases(), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_batches_may_be_cut_anywhere_for_long(trial: Case, cuts: list[int]) -> None:
    _agrees_in_batches(trial, cuts)
