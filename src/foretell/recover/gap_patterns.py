"""The patterns that find the gaps of a statement with LOSING, and what is seen in them: ordinary statements.

For each gap that an estimate may have, between two positive steps u and v, `u ; v` finds the gaps, and one pattern for
each step that may be hidden, `u ; h ; v`, the events seen in them. At the edge of the window, where v or u is missing,
the events of the other step are the gaps. So a gap is whatever the statement itself would take for one: with its
lanes, variables, conditions and window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foretell.events.delays.delay_model import GapEnds
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.loss_rates import not_passed_over
from foretell.language.reduced_patterns import pattern_parts
from foretell.language.subscription_check import binders
from foretell.records import record

#: A step that never comes: its negation waits for the end of the window. No name in a text has its first character.
_NEVER = "\0never"

#: Events that an operator does not pass over, with a number.
_PASSED = "\0passed"


#: So many events that an operator does not pass over are looked for: more weigh next to nothing.
MOST_PASSED = 4


@record
class GapPatterns:
    """`whole` finds the gaps, `seen` each hidden step in them, and `held` those events of a step that may be lost whose
    values meet the conditions of the steps present. Where an operator does not pass over events, there is a `whole` for
    each number of them, and `passed` is their name."""

    ends: GapEnds
    hidden: tuple[str, ...]
    whole: tuple[CheckedSubscription, ...]
    seen: Mapping[str, CheckedSubscription]
    held: Mapping[str, CheckedSubscription]
    passed: str | None

    @property
    def statements(self) -> tuple[CheckedSubscription, ...]:
        return (*self.whole, *self.seen.values(), *self.held.values())


def gap_patterns(subscription: CheckedSubscription, ends: GapEnds, hidden: Sequence[str]) -> GapPatterns:
    builder = _GapPatternBuilder(subscription, ends)
    steps = [h for h in hidden if h in subscription.steps]
    passed = next((h for h in hidden if h not in subscription.steps), None)
    numbers = range(MOST_PASSED + 1 if passed is not None else 1)
    return GapPatterns(
        ends,
        tuple(hidden),
        tuple(builder.whole(number, passed) for number in numbers),
        {h: builder.seen(h) for h in steps},
        {h: builder.held(h) for h in steps if builder.is_conditioned(h)},
        passed,
    )


class _GapPatternBuilder:
    def __init__(self, subscription: CheckedSubscription, ends: GapEnds) -> None:
        self._subscription, self._ends = subscription, ends
        self._known = [step for step in ends if step is not None]

    def whole(self, number: int, passed: str | None) -> CheckedSubscription:
        """The gaps; with `passed` those in which the operator has not passed over so many events."""
        if passed is None:
            return self._pattern("", self._steps(self._known))
        (part,) = (p for p in pattern_parts(self._subscription) if not_passed_over(p) == passed)
        u, v = self._steps(self._known).values()
        shape = replace(v.shape, conditions=(), loops=frozenset())
        extra = [CheckedStep(replace(shape, name=f"{_PASSED} {n}"), (), ()) for n in range(number)]
        steps = {step.name: step for step in (u, *extra, v)}
        return self._pattern(f" over {number}", steps, part.operator)

    def seen(self, step: str) -> CheckedSubscription:
        """The events of a hidden step by its own conditions, as a negation has them."""
        known = self._steps(self._known)
        return self._pattern(f" with {step}", {**self._steps(self._order(step)), **known})

    def held(self, step: str) -> CheckedSubscription:
        return self._pattern(f" held by {step}", self._steps(self._order(step)))

    def is_conditioned(self, step: str) -> bool:
        """Whether steps present have conditions on a step that may be lost."""
        if self._subscription.steps[step].shape.negated:
            return False
        own, known = self._steps(self._order(step)), self._steps(self._known)
        return any(own[name].conditions != known[name].conditions for name in self._known)

    def _order(self, step: str) -> list[str]:
        u, v = self._ends
        return [name for name in (u, step, v) if name is not None]

    def _steps(self, names: Sequence[str]) -> dict[str, CheckedStep]:
        """These steps with the conditions that they have among each other."""
        steps = {step: _positive(self._subscription.steps[step]) for step in names}
        bound = {variable for step in steps.values() for variable, _ in step.binders}
        return {name: _among(step, frozenset(names), bound) for name, step in steps.items()}

    def _pattern(
        self, suffix: str, steps: dict[str, CheckedStep], operator: tree.Operator | None = None
    ) -> CheckedSubscription:
        """The statement that matches these steps one after the other."""
        subscription, between = self._subscription, operator or tree.Later()
        bound = {variable for step in steps.values() for variable, _ in step.binders}
        parts = tuple(tree.SequencePart(tree.Step(step), between if n else None) for n, step in enumerate(steps))
        pattern = tree.sequence(parts)
        if len(steps) == 1 and self._ends[1] is None:  # known when time has passed the window
            pattern = tree.Sequence(parts, (tree.Negation(tree.Step(_NEVER)),))
            shape = replace(steps[self._known[0]].shape, name=_NEVER, negated=True)
            steps = {**steps, _NEVER: CheckedStep(shape, (tree.Literal(False),), ())}
        variables = {name: kind for name, kind in subscription.variables.items() if name in bound}
        gap = " to ".join("the edge" if end is None else end for end in self._ends)
        name = f"{subscription.name}\0 {gap}{suffix}"
        own = replace(subscription.tree, name=name, having=None, after=tree.AfterMatch(), returns=(), losing=None)
        return replace(
            subscription, tree=own, pattern=pattern, steps=steps, variables=variables, returns=variables, known_late={}
        )


def learnable_operator(subscription: CheckedSubscription, u: str, v: str) -> str | None:
    """The name of the events that the operator between two neighbours does not pass over, where these may be lost and θ
    depends on u alone."""
    positive = subscription.positive
    if positive.index(v) != positive.index(u) + 1:
        return None
    part = pattern_parts(subscription)[positive.index(v)]
    name = not_passed_over(part)
    if name is None or not subscription.loss.get(name, 0.0) > 0:
        return None
    if isinstance(part.operator, tree.FirstWhere):
        bound = {variable for variable, _ in subscription.steps[u].binders}
        if not _is_among(part.operator.condition, frozenset({u}), bound):
            return None
    return name


def _positive(step: CheckedStep) -> CheckedStep:
    """The step as one that binds its event, and the variables that a negated one compares with."""
    if not step.shape.negated:
        return step
    bound = tuple((v.name, value) for c in step.conditions for v, value in binders(c, step.name))
    conditions = tuple(c for c in step.conditions if not list(binders(c, step.name)))
    return CheckedStep(replace(step.shape, negated=False), conditions, bound)


def _among(step: CheckedStep, names: frozenset[str], bound: set[str]) -> CheckedStep:
    """The step with the conditions that name no other steps and variables."""
    conditions = (c for whole in step.conditions for c in tree.conjuncts(whole))
    return replace(step, conditions=tuple(c for c in conditions if _is_among(c, names, bound)))


def _is_among(condition: tree.Expression, names: frozenset[str], bound: set[str]) -> bool:
    """Whether a condition depends on these steps and variables alone: `prev` and `duration` depend on which events are
    bound before."""
    nodes = list(condition.walk())
    if any(isinstance(node, tree.Previous | tree.Elapsed) for node in nodes):
        return False
    return condition.named_steps <= names and all(n.name in bound for n in nodes if isinstance(n, tree.Variable))
