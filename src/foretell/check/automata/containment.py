"""Containment and equivalence of two statements.

A subscription is contained in another where, on every stream and in every lane, the other notifies at each event at
which it notifies. A correlator is contained in another where at each event the other emits all of its tokens, each at
least as often; two are equivalent where they emit the same tokens in the same order.
"""

from __future__ import annotations

from foretell.check.answer import Answer, Truth
from foretell.check.automata.alphabet import EventOracle
from foretell.check.automata.correlator_containment import CorrelatorPair
from foretell.check.automata.solver_oracle import SolverOracle
from foretell.check.automata.subscription_containment import Programs, SubscriptionContainment
from foretell.check.deadline import Deadline
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription


def contained(
    left: CheckedStatement,
    right: CheckedStatement,
    left_program: CheckedProgram,
    right_program: CheckedProgram,
    deadline: Deadline,
    oracle: EventOracle | None = None,
) -> Answer:
    """Whether the left statement is contained in the right one. A no has a witness on which they differ."""
    programs = Programs(left_program, right_program)
    oracle = oracle or SolverOracle(left, left_program, deadline)
    if isinstance(left, CheckedSubscription) and isinstance(right, CheckedSubscription):
        return SubscriptionContainment(left, right, programs, deadline, oracle).answer()
    if isinstance(left, CheckedCorrelator) and isinstance(right, CheckedCorrelator):
        return CorrelatorPair(left, right, (left_program, right_program), same=False).answer(deadline, oracle)
    return Answer(Truth.UNKNOWN, "one of the statements is a correlator, the other a subscription")


def equivalent(
    left: CheckedStatement,
    right: CheckedStatement,
    left_program: CheckedProgram,
    right_program: CheckedProgram,
    deadline: Deadline,
    oracle: EventOracle | None = None,
) -> Answer:
    """Whether two statements notify at the same events. A no has a witness on which they differ."""
    oracle = oracle or SolverOracle(left, left_program, deadline)
    if isinstance(left, CheckedCorrelator) and isinstance(right, CheckedCorrelator):
        return CorrelatorPair(left, right, (left_program, right_program), same=True).answer(deadline, oracle)
    forth = contained(left, right, left_program, right_program, deadline, oracle)
    if forth.truth is not Truth.YES:
        return forth
    return contained(right, left, right_program, left_program, deadline, oracle)
