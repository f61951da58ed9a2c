"""The conditions of a step that name the step itself: its own event goes without its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from foretell.language import tree


def with_bare_references(conditions: Iterable[tree.Expression], step: str) -> tuple[tree.Expression, ...]:
    """Conditions with `attr` for `a.attr`, and with the time of the event itself for `t(a)`.

    Of a repeated step, first(b) and aggregates are about other events and stay.
    """
    return tuple(_bare(condition, step) for condition in conditions)


def _bare(expression: tree.Expression, step: str) -> tree.Expression:
    match expression:
        case tree.Attribute(event=event) | tree.StreamOf(event=event) | tree.TimeOf(event=event):
            if isinstance(event, tree.BoundEvent | tree.LastOf) and event.step == step:
                return replace(expression, event=tree.This())
            return expression
    return tree.map_children(expression, lambda inner: _bare(inner, step))
