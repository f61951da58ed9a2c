"""The benchmark of single-step detection: what it counts, and that both ways have the same matches."""

from __future__ import annotations

import pytest

from foretell.bench.filter.single_step import OPERATORS, PARAMETERS, DetectionCase, DetectionRun, office, run_detection
from foretell.language.subscriptions import parse

_BATCHES = [office(first, 500) for first in range(0, 2_500, 500)]
_EVENTS = 2_500


def _both(case: DetectionCase) -> tuple[DetectionRun, DetectionRun]:
    checked = parse(case.text).checked({"office": _BATCHES[0].schema}, {})
    on, off = (run_detection(checked, _BATCHES, single_step=single_step) for single_step in (True, False))
    assert on.matches == off.matches
    return on, off


def _named(name: str) -> DetectionCase:
    return next(case for case in (*OPERATORS, *PARAMETERS) if case.name == name)


def test_without_it_every_predicate_is_evaluated_for_every_event() -> None:
    for name, predicates in (("sequence", 2), ("sequence of five", 5), ("negation in a sequence", 3), ("negation", 1)):
        assert _both(_named(name))[1].operations == predicates * _EVENTS


def test_later_steps_are_evaluated_where_a_match_waits() -> None:
    for case in (*OPERATORS, *PARAMETERS):
        on, off = _both(case)
        starts = 2 if case.match in ("window & presence", "window | presence") else 1
        assert starts * _EVENTS <= on.operations <= off.operations
        if on.operations < off.operations:
            assert on.operations < 0.6 * off.operations, case.name


@pytest.mark.parametrize("name", ["conjunction", "disjunction", "negation", "selection"])
def test_predicates_that_are_needed_from_the_start_stay(name: str) -> None:
    """Table 7.3: these insert all their profiles at once."""
    on, off = _both(_named(name))
    assert on.operations == off.operations


def test_seven_steps_save_what_the_paper_saves() -> None:
    on, off = _both(_named("sequence of seven, next events"))
    assert 1 - on.operations / off.operations > 0.85
