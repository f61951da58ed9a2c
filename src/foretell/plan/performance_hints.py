"""Hints: changes to a statement that would make it quicker, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.plan.condition_scope import is_static
from foretell.plan.expressions import IndexKey
from foretell.plan.lower.arrival_analysis import analyse_sequence
from foretell.plan.lower.ir import NO_CODE
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.shapes import NfaShape
from foretell.plan.strategy import Executor, Kernel, Strategy, TemplateMode, choose_kernel, is_longest
from foretell.plan.template_profiles import rows_apart
from foretell.records import record


class Gain(Enum):
    """The gain of a change: an index over the rows of a table or over partial matches, or a quicker way to run."""

    INDEXED_ROWS = "indexed rows"
    INDEXED_MATCHES = "indexed matches"
    QUICKER_KERNEL = "quicker kernel"


@record
class PerformanceHint:
    """A change to a statement, and the gain."""

    gain: Gain
    text: str


def hints_for(
    subscription: CheckedSubscription, strategy: Strategy, nfa: SharedNfa | None, *, shares: bool
) -> Iterator[PerformanceHint]:
    """The hints for one subscription. `nfa` is that of the subscription alone, None where its states are not known;
    with `shares` it runs in a larger one, whose kernel others decide too."""
    per_row = strategy.template is not None and strategy.template.value is TemplateMode.EXECUTOR_PER_ROW
    if per_row and strategy.observation is None and rows_apart(subscription) is not None:
        yield PerformanceHint(
            Gain.INDEXED_ROWS,
            "do without AFTER MATCH, FIRST, LAST, a[i], and a negation before the first event: "
            "then one executor serves all rows",
        )
    yield from _lane_hints(subscription, strategy, nfa)
    if nfa is not None and strategy.executor.value is Executor.NFA:
        yield from _longest_hints(subscription, nfa)
        yield from _key_hints(nfa)
        if not shares:
            yield from _lockstep_hints(subscription, nfa)


def _lane_hints(
    subscription: CheckedSubscription, strategy: Strategy, nfa: SharedNfa | None
) -> Iterator[PerformanceHint]:
    key: tree.Expression | None = None
    if strategy.executor.value is Executor.ARRIVALS:
        keys = analyse_sequence(subscription).keys
        values = set(keys[0].values()) if keys else set()
        key = values.pop() if len(values) == 1 else None
    elif nfa is not None and nfa.compiled.has_process_key:
        column = nfa.compiled.columns[nfa.compiled.process_key]
        key = column.expression if isinstance(column, IndexKey) else None
    if isinstance(key, tree.Attribute) and str(key.name) not in map(str, subscription.tree.per):
        text = f"add PER {key.name}: all steps share `{key.name}`, and Spark runs lanes in parallel"
        yield PerformanceHint(Gain.QUICKER_KERNEL, text)


def _longest_hints(subscription: CheckedSubscription, nfa: SharedNfa) -> Iterator[PerformanceHint]:
    """The change that would let a run be followed as a whole."""
    plain = nfa.compiled.kernel.kernel.value in (Kernel.LONGEST, Kernel.LONGEST_GENERAL)
    if is_longest(subscription) and not plain and subscription.tree.having is not None:
        yield PerformanceHint(
            Gain.QUICKER_KERNEL,
            "write HAVING as a condition of the steps, as `b{5,}` for `HAVING count(b) >= 5`: "
            "LONGEST would then follow a run as a whole and not all its parts",
        )


def _key_hints(nfa: SharedNfa) -> Iterator[PerformanceHint]:
    if nfa.compiled.kernel.kernel.value is not Kernel.GENERAL or nfa.simultaneous:
        return
    waiting = [n for n, s in enumerate(nfa.states) if not s.waiting.final and not s.waiting.waits]
    listed = {} if nfa.compiled.rows is None else nfa.compiled.rows.index.value  # by the profiles of a template's rows
    unkeyed = [
        n for n in waiting if nfa.states[n].waiting.key is None and n not in listed and not nfa.states[n].waiting.strict
    ]
    if unkeyed:
        states = ", ".join(map(str, unkeyed))
        yield PerformanceHint(
            Gain.INDEXED_MATCHES,
            f"compare with a bound event by an equality, as in `b.key = a.key`: "
            f"a key would index the partial matches at state{'s' if len(unkeyed) > 1 else ''} {states}",
        )


def _lockstep_hints(subscription: CheckedSubscription, nfa: SharedNfa) -> Iterator[PerformanceHint]:
    """The one change that would let the lockstep kernel run a strict NFA."""
    choice = nfa.compiled.kernel
    if choice.kernel.value is not Kernel.STRICT:
        return
    if _is_lockstep(replace(choice.shape, runs_code=False)):
        conditions = ", ".join(f"`{text}`" for text in _relative_conditions(nfa))
        text = f"without the comparison with a bound event ({conditions}) the lockstep kernel would run it"
        yield PerformanceHint(Gain.QUICKER_KERNEL, text)
    if subscription.within is not None and _is_lockstep(replace(choice.shape, has_window=False)):
        text = "without WITHIN the lockstep kernel would run it; `,` bounds memory already"
        yield PerformanceHint(Gain.QUICKER_KERNEL, text)


def _is_lockstep(shape: NfaShape) -> bool:
    return choose_kernel(shape).kernel.value is Kernel.LOCKSTEP


def _relative_conditions(nfa: SharedNfa) -> list[str]:
    """The conditions that kernels evaluate by code."""
    (plan,) = nfa.members.values()
    edges = zip(plan.automaton.edges, nfa.edges, strict=True)
    conditions = [c.expression for edge, shared in edges if shared.guard.code != NO_CODE for c in edge.conditions]
    return list(dict.fromkeys(expression_text(c) for c in conditions if not is_static(c)))
