"""How likely each step's event is lost: as LOSING says, else as its stream says (decision 0002, item 28)."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.errors import refuse, suggestion
from foretell.language import tree
from foretell.language.checked import CheckedStep
from foretell.language.tree import place_of

Losses = Mapping[str, tuple[tree.Loss, ...]]


def losses_of(subscription: tree.Subscription, steps: Mapping[str, CheckedStep], losses: Losses) -> dict[str, float]:
    losing = subscription.losing
    if losing is None:
        return {}
    _check_shape(subscription.pattern)
    said, everywhere = _said(losing, steps)
    if not losing.items and not any(losses.get(name) for name in subscription.streams):
        hint = "write LOSING 0.05 ABOVE ..., or LOSS 0.05 in the STREAM statement"
        refuse("no-loss", "LOSING does not say how much is lost, and no stream does", losing.place, hint)
    found: dict[str, float] = {}
    for name, step in steps.items():
        if name in said:
            found[name] = said[name]
        elif everywhere is not None:
            found[name] = everywhere
        else:
            found[name] = _of_stream(step, subscription.streams, losses)
    return found


def _check_shape(pattern: tree.Pattern) -> None:
    parts = pattern.parts if isinstance(pattern, tree.Sequence) else (tree.SequencePart(pattern),)
    for part in parts:
        inner = part.pattern
        while isinstance(inner, tree.Conditioned):
            inner = inner.pattern
        if not isinstance(inner, tree.Step):
            hint = "lost events are estimated for a sequence of single steps, with or without negations"
            refuse("losing-shape", "LOSING cannot be used with this pattern", inner.place, hint)


def _said(losing: tree.Losing, steps: Mapping[str, CheckedStep]) -> tuple[dict[str, float], float | None]:
    """What LOSING says of single steps, and of all."""
    said: dict[str, float] = {}
    everywhere: float | None = None
    for item in losing.items:
        for step in item.steps:
            if step not in steps:
                hint = suggestion(step, steps)
                refuse("unknown-step", f"LOSING names an unknown step '{step}'", place_of(step), hint)
            if step in said:
                refuse("twice", f"LOSING speaks of '{step}' twice", place_of(step))
            said[step] = item.probability
        if not item.steps:
            if everywhere is not None:
                refuse("twice", "LOSING speaks of all steps twice", item.place)
            everywhere = item.probability
    return said, everywhere


def _of_stream(step: CheckedStep, streams: tuple[str, ...], losses: Losses) -> float:
    """What the step's stream says: the first WHEN that is true of the step, else the LOSS without WHEN."""
    known = _constants(step)
    options = [stream for stream in streams if known.get(None, stream) == stream]
    if len({losses.get(stream, ()) for stream in options}) > 1:
        _undecided(step, "which stream it is of", f"say stream = '{options[0]}' in its condition")
    speaking = losses.get(options[0], ()) if options else ()
    for loss in speaking:
        if loss.condition is None:
            continue
        truth = True if _is_said(loss.condition, step) else _truth(loss.condition, known)
        if truth is None:
            _undecided(step, "whether LOSS ... WHEN speaks of it", "let its condition say what the WHEN asks")
        if truth:
            return loss.probability
    return next((loss.probability for loss in speaking if loss.condition is None), 0.0)


def _undecided(step: CheckedStep, what: str, hint: str) -> None:
    refuse(
        "undecided-loss",
        f"it cannot be told of the step '{step.name}' {what}",
        step.shape.place,
        f"{hint}, or say it here: LOSING 0.05 OF {step.name}",
    )


def _is_said(condition: tree.Expression, step: CheckedStep) -> bool:
    return set(tree.conjuncts(condition)) <= set(step.conditions)


Constants = Mapping[str | None, object]


def _constants(step: CheckedStep) -> Constants:
    """The attributes that the step's conditions fix; None stands for the stream."""
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
    """Whether a condition is true of every event with these constants, false of every one, or cannot be told."""
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
            one, other = _constant(left, known), _constant(right, known)
            return None if one is None or other is None else (one == other) is (operator == "=")
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
