"""Containment and equivalence of correlators against all pairs of configurations of the reference evaluator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from foretell.check.answer import Truth
from foretell.check.automata.containment import contained, equivalent
from foretell.check.deadline import Deadline
from foretell.language import tree
from foretell.reference.correlation import CorrelationRun, MachineConstruction
from tests.check.test_correlator_questions import EVENTS, correlator, random_expression
from tests.correlate.expressions import small_expressions


def shortest_difference(left: tree.Correlation, right: tree.Correlation, *, same: bool) -> int | None:
    """The fewest events after which the tokens of the reference evaluator differ."""
    modules = [MachineConstruction().build(whole) for whole in (left, right)]
    start = tuple(module.initial for module in modules)
    known, level, depth = {start}, [start], 0
    while level:
        depth += 1
        following = []
        for pair in level:
            for event in EVENTS:
                runs = [CorrelationRun(module, active) for module, active in zip(modules, pair, strict=True)]
                ours, theirs = (run.read(lambda step, event=event: step in event) for run in runs)  # type: ignore[misc]
                if (ours != theirs) if same else (Counter(ours) - Counter(theirs)):
                    return depth
                after = tuple(run.active for run in runs)
                if after not in known:
                    known.add(after)
                    following.append(after)
        level = following
    return None


def compare(wholes: Sequence[tree.Correlation]) -> Counter[Truth]:
    statements, program = correlator(*wholes)
    truths: Counter[Truth] = Counter()
    for ours, left in zip(wholes, statements, strict=True):
        for theirs, right in zip(wholes, statements, strict=True):
            for same, question in ((False, contained), (True, equivalent)):
                answer = question(left, right, program, program, Deadline(60))
                expected = shortest_difference(ours, theirs, same=same)
                pair = f"{ours}\n{theirs}\n{answer}"
                assert answer.truth is (Truth.YES if expected is None else Truth.NO), pair
                if answer.witness is not None:
                    assert len(answer.witness.events) == expected, pair
                truths[answer.truth] += 1
    return truths


def test_small_expressions() -> None:
    truths = compare([*small_expressions()][::130])
    assert truths[Truth.YES] > 50
    assert truths[Truth.NO] > 200


def test_random_expressions() -> None:
    truths = compare([random_expression(seed) for seed in range(12)])
    assert min(truths.values()) > 20


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_pairs() -> None:
    compare([*small_expressions()][::18])
    for seed in range(60):
        chance = Random(seed)
        compare([random_expression(chance.randrange(1 << 30)) for _ in range(8)])
