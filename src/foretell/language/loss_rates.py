"""Loss probabilities of steps: from LOSING, else from the LOSS of their stream (decision 0002, item 28)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foretell.errors import refuse, suggestion
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.tree import place_of

Losses = Mapping[str, tuple[tree.Loss, ...]]

#: The steps of a pattern that may be lost: each set of them is a pattern of its own.
MOST_LOSABLE = 10

#: All steps of a pattern with LOSING: the ways through a gap are counted from each step to each later one.
MOST_STEPS = 100


def loss_rates(subscription: tree.Subscription, steps: Mapping[str, CheckedStep], losses: Losses) -> dict[str, float]:
    losing = subscription.losing
    if losing is None:
        return {}
    _check_shape(subscription.pattern)
    by_step, everywhere = _given_by_losing(losing, steps)
    if not losing.items and not any(losses.get(name) for name in subscription.streams):
        hint = "write LOSING 0.05 ABOVE ..., or LOSS 0.05 in the STREAM statement"
        refuse("no-loss", "LOSING gives no loss probability, and no stream has a LOSS", losing.place, hint)
    rates: dict[str, float] = {}
    for name, step in steps.items():
        if name in by_step:
            rates[name] = by_step[name]
        elif everywhere is not None:
            rates[name] = everywhere
        else:
            rates[name] = _given_by_stream(step, subscription.streams, losses)
    if len(steps) > MOST_STEPS:
        hint = f"use {MOST_STEPS} steps at most, negated ones included"
        refuse("losing-many", f"LOSING cannot be used with {len(steps)} steps", losing.place, hint)
    losable = [name for name, step in steps.items() if rates[name] > 0 and not step.shape.negated]
    if len(losable) > MOST_LOSABLE:
        hint = f"name those most often lost: LOSING 0.05 OF {losable[0]}, {losable[1]}, up to {MOST_LOSABLE}"
        refuse("losing-many", f"LOSING cannot be used with {len(losable)} steps that may be lost", losing.place, hint)
    rates |= dict.fromkeys(passed_over(subscription.pattern), _of_any_event(everywhere, subscription.streams, losses))
    return rates


def losable_steps(subscription: CheckedSubscription) -> list[str]:
    """The steps that an estimate may assume to be lost: the first and the last one only with a window, in which they
    would have come."""
    positive = subscription.positive
    edges = {positive[0], positive[-1]} if subscription.within is None else set[str]()
    return [name for name in positive if subscription.loss[name] > 0 and name not in edges]


def passed_over(pattern: tree.Pattern) -> Iterator[str]:
    """The names by which models know the events that the operators of a sequence do not pass over."""
    for part in pattern.parts if isinstance(pattern, tree.Sequence) else ():
        if (name := not_passed_over(part)) is not None:
            yield name


def not_passed_over(part: tree.SequencePart) -> str | None:
    """The name of the events that the operator of a part does not pass over: under `,` any event, under `;{θ}` one that
    satisfies θ."""
    step = part.pattern
    while isinstance(step, tree.Conditioned):
        step = step.pattern
    match step, part.operator:
        case tree.Step(name=name), tree.Next():
            return f"next {name}"
        case tree.Step(name=name), tree.FirstWhere():
            return f"first {name}"
    return None


def _of_any_event(everywhere: float | None, streams: tuple[str, ...], losses: Losses) -> float:
    """The loss of an event of which nothing is known: the one for all steps, else the least of the streams' own."""
    if everywhere is not None:
        return everywhere
    rates = [next((loss.probability for loss in losses.get(s, ()) if loss.condition is None), 0.0) for s in streams]
    return min(rates, default=0.0)


def _check_shape(pattern: tree.Pattern) -> None:
    parts = pattern.parts if isinstance(pattern, tree.Sequence) else (tree.SequencePart(pattern),)
    for part in parts:
        inner = part.pattern
        while isinstance(inner, tree.Conditioned):
            inner = inner.pattern
        if not isinstance(inner, tree.Step):
            hint = "use a sequence of single steps, with or without negations"
            refuse("losing-shape", "LOSING cannot be used with this pattern", inner.place, hint)


def _given_by_losing(losing: tree.Losing, steps: Mapping[str, CheckedStep]) -> tuple[dict[str, float], float | None]:
    """The probabilities that LOSING gives for single steps, and the one for all others."""
    by_step: dict[str, float] = {}
    everywhere: float | None = None
    for item in losing.items:
        for step in item.steps:
            if step not in steps:
                hint = suggestion(step, steps)
                refuse("unknown-step", f"LOSING names an unknown step '{step}'", place_of(step), hint)
            if step in by_step:
                refuse("twice", f"LOSING names '{step}' twice", place_of(step), "delete one of them")
            by_step[step] = item.probability
        if not item.steps:
            if everywhere is not None:
                refuse("twice", "LOSING gives a probability for all steps twice", item.place, "delete one of them")
            everywhere = item.probability
    return by_step, everywhere


def _given_by_stream(step: CheckedStep, streams: tuple[str, ...], losses: Losses) -> float:
    """The LOSS of the step's stream: of the first WHEN that is true of the step, else the one without WHEN."""
    known = _constants(step)
    options = [stream for stream in streams if known.get(None, stream) == stream]
    if len({losses.get(stream, ()) for stream in options}) > 1:
        _undecided(step, f"which stream the step '{step.name}' reads", f"add stream = '{options[0]}' to its condition")
    stream_losses = losses.get(options[0], ()) if options else ()
    for loss in stream_losses:
        if loss.condition is None:
            continue
        truth = True if _is_among_conditions(loss.condition, step) else _truth(loss.condition, known)
        if truth is None:
            _undecided(
                step, f"whether LOSS ... WHEN applies to the step '{step.name}'", "repeat the WHEN in its condition"
            )
        if truth:
            return loss.probability
    return next((loss.probability for loss in stream_losses if loss.condition is None), 0.0)


def _undecided(step: CheckedStep, question: str, hint: str) -> None:
    refuse(
        "undecided-loss",
        f"cannot decide {question}",
        step.shape.place,
        f"{hint}, or give its probability here: LOSING 0.05 OF {step.name}",
    )


def _is_among_conditions(condition: tree.Expression, step: CheckedStep) -> bool:
    return set(tree.conjuncts(condition)) <= set(step.conditions)


Constants = Mapping[str | None, object]


def _constants(step: CheckedStep) -> Constants:
    """The attributes that the step's conditions fix to a constant; the key None is the stream."""
    found: dict[str | None, object] = {}
    for condition in step.conditions:
        match condition:
            case tree.Binary(operator="=", left=tree.Literal(value=value), right=attribute):
                pass
            case tree.Binary(operator="=", left=attribute, right=tree.Literal(value=value)):
                pass
            case _:
                continue
        match attribute:
            case tree.Attribute(event=tree.This(), name=name):
                found[str(name)] = value
            case tree.StreamOf(event=tree.This()):
                found[None] = value
    return found


def _truth(condition: tree.Expression, known: Constants) -> bool | None:
    """Whether a condition is true or false of every event with these constants; None where that is unknown."""
    match condition:
        case tree.Binary(operator="AND" | "OR" as operator, left=left, right=right):
            truths = (_truth(left, known), _truth(right, known))
            decisive = operator == "OR"
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        case tree.Unary(operator="NOT", operand=operand):
            truth = _truth(operand, known)
            return None if truth is None else not truth
        case tree.In(value=value, options=options, negated=negated):
            found = [_constant(o, known) for o in (value, *options)]
            return None if None in found else (found[0] in found[1:]) is not negated
        case tree.Binary(operator="=" | "<>" as operator, left=left, right=right):
            left_value, right_value = _constant(left, known), _constant(right, known)
            if left_value is None or right_value is None:
                return None
            return (left_value == right_value) is (operator == "=")
    return None


def _constant(expression: tree.Expression, known: Constants) -> object:
    match expression:
        case tree.Literal(value=value):
            return value
        case tree.Attribute(event=tree.This(), name=name):
            return known.get(str(name))
        case tree.StreamOf(event=tree.This()):
            return known.get(None)
    return None
