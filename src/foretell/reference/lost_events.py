"""Estimates: matches of which some events were lost (AYAC sections 2 and 3).

A match without some of its steps is a match of the pattern without them, in which neither the negated steps nor the
lost ones were seen in between. So each set of lost steps gives a subscription of its own, whose lost steps stand
where negations stand; its matches are the estimates, and the gaps between their events give the probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from foretell.errors import InputError
from foretell.events.delay_distributions import DelayDistribution, DelayModel
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.reference.gap_probability import Gap, HiddenStep, Link
from foretell.reference.matches import Match, ReferenceMatcher


def estimates(matcher: ReferenceMatcher, complete: list[Match], timing: DelayModel) -> list[Match]:
    """Complete and incomplete matches that are probable enough, in the order in which AFTER MATCH takes them."""
    losing = matcher.subscription.tree.losing
    assert losing is not None
    found = [(m, frozenset[str]()) for m in complete]
    for lost in _lost_sets(matcher.subscription):
        reduced = replace(matcher, subscription=without(matcher.subscription, lost))
        found += [(m, lost) for m in reduced.matches()]
    scored = []
    for match, lost in found:
        likely = probability(matcher.subscription, match, lost, timing, published=losing.published)
        if likely >= losing.above:
            scored.append(replace(match, probability=likely, lost=lost))
    return sorted(scored, key=matcher.taking_order)


def _lost_sets(subscription: CheckedSubscription) -> Iterator[frozenset[str]]:
    """Every set of steps that may be lost together: at least one step stays, the last is lost only with a window."""
    positive = subscription.positive
    may = [name for name in positive if subscription.loss[name] > 0]
    if subscription.within is None and positive[-1] in may:
        may.remove(positive[-1])
    for size in range(1, len(may) + 1):
        for lost in combinations(may, size):
            if len(lost) < len(positive):
                yield frozenset(lost)


def _parts(subscription: CheckedSubscription) -> tuple[tree.SequencePart, ...]:
    pattern = subscription.pattern
    return pattern.parts if isinstance(pattern, tree.Sequence) else (tree.SequencePart(pattern),)


def without(subscription: CheckedSubscription, lost: frozenset[str]) -> CheckedSubscription:
    """The subscription whose matches are those of this one without the lost steps."""
    parts: list[tree.SequencePart] = []
    hidden: list[tree.Negation] = []
    for part in _parts(subscription):
        assert isinstance(part.pattern, tree.Step)
        hidden += part.absent
        if part.pattern.name in lost:
            hidden.append(tree.Negation(part.pattern))
        else:
            operator = _operator(part.operator, lost) if parts else None
            parts.append(tree.SequencePart(part.pattern, operator, tuple(hidden)))
            hidden = []
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()
    having = subscription.tree.having
    if having is not None and _having_holds(having, lost, subscription):
        having = None
    return replace(
        subscription,
        tree=replace(subscription.tree, having=having),
        pattern=tree.Sequence(tuple(parts), (*hidden, *trailing)),
        steps={name: _step(step, lost, subscription) for name, step in subscription.steps.items()},
    )


def _operator(operator: tree.Operator | None, lost: frozenset[str]) -> tree.Operator | None:
    if isinstance(operator, tree.FirstWhere) and _mentions(operator.condition, lost):
        return tree.Later()
    return operator


def _having_holds(having: tree.Expression, lost: frozenset[str], subscription: CheckedSubscription) -> bool:
    """HAVING that mentions a lost step holds; `duration` mentions the first and the last."""
    ends = {subscription.positive[0], subscription.positive[-1]}
    return _mentions(having, lost) or (bool(lost & ends) and _has(having, tree.Elapsed))


def _step(step: CheckedStep, lost: frozenset[str], subscription: CheckedSubscription) -> CheckedStep:
    """A condition that mentions a lost step holds; a lost step's variables compare, as a negated step's do.

    `prev` mentions the step before, `duration` the first one.
    """
    others = lost - {step.name}
    first, before = subscription.positive[0], _step_before(step.name, subscription)
    conditions = tuple(
        c
        for c in step.conditions
        if not _mentions(c, others)
        and not (first in others and _has(c, tree.Elapsed))
        and not (before in others and _has(c, tree.Previous))
    )
    binders = tuple((v, e) for v, e in step.binders if not _mentions(e, others))
    if step.name in lost:
        conditions += tuple(tree.Binary("=", tree.Variable(v), e) for v, e in binders)
        binders = ()
    shape = replace(step.shape, negated=step.shape.negated or step.name in lost)
    return replace(step, shape=shape, conditions=conditions, binders=binders)


def _step_before(step: str, subscription: CheckedSubscription) -> str | None:
    """The positive step just before a step, negated ones included."""
    before = None
    for name, checked in subscription.steps.items():
        if name == step:
            return before
        if not checked.shape.negated:
            before = name
    return before


def _has(expression: tree.Expression, kind: type[tree.Node]) -> bool:
    return any(isinstance(node, kind) for node in expression.walk())


def _mentions(expression: tree.Expression, steps: frozenset[str]) -> bool:
    return any(getattr(node, "step", None) in steps for node in expression.walk())


# ── probabilities ──


def probability(
    subscription: CheckedSubscription, match: Match, lost: frozenset[str], timing: DelayModel, *, published: bool
) -> float:
    """The probability of a match: the product over the gaps between its events."""
    result = 1.0
    for gap in _gaps(subscription, match, lost, timing):
        result *= gap.published() if published else gap.probability()
    return result


def _gaps(subscription: CheckedSubscription, match: Match, lost: frozenset[str], timing: DelayModel) -> Iterator[Gap]:
    unit = 1_000_000 if subscription.time is Type.TIMESTAMP else 1
    present = {b.step: b.at.event for b in match.bound}
    window = math.inf if subscription.within is None else float(subscription.within)
    room = (window - (match.last.event.end - match.first.event.start)) / unit
    parts = list(_parts(subscription))
    names = [part.pattern.name for part in parts if isinstance(part.pattern, tree.Step)]
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()

    def after(negations: Iterable[tree.Negation]) -> tuple[HiddenStep, ...]:
        return tuple(_hidden(subscription, timing.after, n.step.name) for n in negations)

    first = next(i for i, name in enumerate(names) if name in present)
    yield _leading(subscription, parts[: first + 1], names, room, timing)
    links: list[Link] = []
    last = present[names[first]]
    for part, name in zip(parts[first + 1 :], names[first + 1 :], strict=True):
        if name in present:
            yield Gap((present[name].end - last.end) / unit, tuple(links), after(part.absent))
            links, last = [], present[name]
        else:
            links.append(Link(_hidden(subscription, timing.after, name), after(part.absent)))
    if links or trailing:
        yield Gap(room, tuple(links), after(trailing))


def _leading(
    subscription: CheckedSubscription, parts: list[tree.SequencePart], names: list[str], room: float, timing: DelayModel
) -> Gap:
    """The gap before the first event present, seen backwards from it."""
    links = []
    for index in range(len(parts) - 1, 0, -1):
        between = tuple(_hidden(subscription, timing.after, n.step.name) for n in parts[index].absent)
        links.append(Link(_hidden(subscription, timing.before, names[index - 1]), between))
    negated = tuple(_hidden(subscription, timing.before, n.step.name) for n in parts[0].absent)
    return Gap(room, tuple(links), negated, backwards=True)


def _hidden(subscription: CheckedSubscription, delays: Mapping[str, DelayDistribution], step: str) -> HiddenStep:
    return HiddenStep(delays[step], subscription.loss[step])


def check_timing(subscription: CheckedSubscription, timing: DelayModel | None) -> None:
    """Refuses, before the first event, a model without a delay that an estimate may need."""
    if subscription.tree.losing is None:
        return
    given = timing or DelayModel({}, {})
    for side, step in _needed(subscription):
        delays = given.after if side == "after" else given.before
        if step not in delays:
            raise InputError(
                "no-delay",
                f"subscription '{subscription.name}': LOSING needs the delay of '{step}' ({side} its neighbour), "
                "and no model has it",
                hint=f'pass a model with {{"subscriptions": {{"{subscription.name}": {{"{side}": '
                f'{{"{step}": {{"distribution": "exponential", "mean": 60, "share": 1}}}}}}}}}}',
            )


def _needed(subscription: CheckedSubscription) -> Iterator[tuple[str, str]]:
    loss = subscription.loss
    parts = _parts(subscription)
    names = [p.pattern.name for p in parts if isinstance(p.pattern, tree.Step)]
    all_lost_so_far = True
    for index, (part, name) in enumerate(zip(parts, names, strict=True)):
        side = "before" if index == 0 else "after"
        yield from ((side, n.step.name) for n in part.absent)
        all_lost_so_far = all_lost_so_far and loss[name] > 0
        last = index == len(parts) - 1
        if all_lost_so_far and not last:
            yield "before", name
        if index > 0 and loss[name] > 0 and not (last and subscription.within is None):
            yield "after", name
    if isinstance(subscription.pattern, tree.Sequence):
        yield from (("after", n.step.name) for n in subscription.pattern.absent)
