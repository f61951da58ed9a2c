"""The concurrent, the determinised and the minimised form emit the tokens of the reference evaluator's machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product
from random import Random

import numpy as np
import pytest

from foretell.correlate.concurrent_run import concurrent_states, run_lanes
from foretell.correlate.construction import correlation_machine
from foretell.correlate.determinisation import DeterminisedMachine, determinised
from foretell.correlate.flat_machine import FlatMachine, flat_machine
from foretell.correlate.minimisation import minimised
from foretell.correlate.reachability import pruned
from foretell.correlate.running_machine import RunningMachine
from foretell.language import tree
from foretell.plan.strategy import CorrelatorForm
from foretell.reference.correlation import CorrelationRun, MachineConstruction
from tests.correlate.expressions import STEPS, expression, small_expressions

#: Each event as the steps that it satisfies.
Events = Sequence[Collection[str]]

Tokens = list[tuple[int, str]]


def by_reference(whole: tree.Correlation, events: Events) -> Tokens:
    run = CorrelationRun.start(MachineConstruction().build(whole))
    return [(number, token) for number, event in enumerate(events) for token in run.read(lambda s, e=event: s in e)]  # type: ignore[misc]


def concurrent(flat: FlatMachine, events: Events) -> Tokens:
    steps = flat.machine.steps
    satisfied = np.array([[step in event for event in events] for step in steps], np.uint8)
    lanes = np.zeros(len(events), np.int64)
    row, token = run_lanes(flat, lanes, satisfied.reshape(len(steps), len(events)), concurrent_states(flat, 1))
    return [(number, flat.tokens[code]) for number, code in zip(row.tolist(), token.tolist(), strict=True)]


def by_table(flat: FlatMachine, machine: DeterminisedMachine, events: Events) -> Tokens:
    found: Tokens = []
    state = 0
    for number, event in enumerate(events):
        looks = [flat.machine.steps[step] in event for step in machine.steps[state]]
        place = sum(1 << bit for bit, is_satisfied in enumerate(looks) if is_satisfied)
        found += [(number, flat.tokens[t]) for t in machine.outputs_of[machine.outputs[state][place]]]
        state = int(machine.following[state][place])
    return found


def agree(whole: tree.Correlation, streams: Sequence[Events]) -> None:
    flat = flat_machine(pruned(correlation_machine(whole)))
    table = determinised(flat)
    smallest = None if table is None else minimised(table)
    for events in streams:
        expected = by_reference(whole, events)
        assert concurrent(flat, events) == expected, (whole, events)
        if table is not None and smallest is not None:
            assert by_table(flat, table, events) == expected, (whole, events)
            assert by_table(flat, smallest, events) == expected, (whole, events)


def random_expressions_agree(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        whole = expression(random, random.randint(1, 5))
        agree(whole, [[{s for s in STEPS if random.random() < 0.35} for _ in range(20)] for _ in range(2)])


def test_random_expressions() -> None:
    random_expressions_agree(range(300))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_expressions_for_long() -> None:
    random_expressions_agree(range(1_000, 31_000))


SHORT = [[*events] for length in (3,) for events in product(["", "a", "b", "ab"], repeat=length)]


def test_some_small_expressions() -> None:
    """Each with all streams of three events."""
    for whole in [*small_expressions()][::29]:
        agree(whole, SHORT)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_small_expressions() -> None:
    for whole in small_expressions():
        agree(whole, [[*events] for events in product(["", "a", "b", "ab"], repeat=4)])


def test_example_3_has_three_states() -> None:
    """Fig. 2: nothing seen, a seen, b seen."""
    both = tree.Push("x", tree.Accumulate((tree.On("a"), tree.On("b"))))
    whole = tree.Again("repeat", tree.Unless(both, tree.On("c")))
    running = RunningMachine.of(whole)
    assert running.determinised is not None
    assert len(running.determinised) == 3
    assert running.decision.value is CorrelatorForm.DETERMINISED


def test_the_smallest_machine_is_the_same_for_equal_meanings() -> None:
    a, b = tree.On("a"), tree.On("b")
    twice = tree.Again("repeat", tree.Push("x", tree.Sequential((a, a, b))))
    counted = tree.Again("repeat", tree.Push("x", tree.Sequential((tree.Again("repeat", a, 2), b))))
    sizes = [RunningMachine.of(whole).determinised for whole in (twice, counted)]
    assert [len(machine) for machine in sizes if machine is not None] == [3, 3]


@pytest.mark.parametrize(
    "whole",
    [
        tree.Again("repeat", tree.Push("x", tree.Again("repeat", tree.On("a"), 1_000_000))),
        tree.Again("repeat", tree.Push("x", tree.Accumulate(tuple(tree.On(f"a{n}") for n in range(40))))),
        tree.Parallel(tuple(tree.Again("repeat", tree.Push(f"{n}", tree.On(f"a{n}"))) for n in range(40))),
    ],
    ids=["a million rounds", "forty at a time", "forty independent ones"],
)
def test_what_is_too_large_runs_concurrently(whole: tree.Correlation) -> None:
    running = RunningMachine.of(whole)
    assert running.decision.value is CorrelatorForm.CONCURRENT
    events = [{f"a{n % 40}", "a"} for n in range(100)]
    assert concurrent(running.flat, events) == by_reference_or_counted(whole, events)


def by_reference_or_counted(whole: tree.Correlation, events: Events) -> Tokens:
    """The reference has a copy of the body for each round: a million are too many for it."""
    counted = any(isinstance(node, tree.Again) and (node.count or 0) > 1_000 for node in whole.walk())
    return [] if counted else by_reference(whole, events)
