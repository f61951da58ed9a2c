"""Notes on what a sensible statement costs, with the clause that would make it cheaper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from foretell.check.costs.growth import growth_of
from foretell.check.costs.statement_costs import exponential_matches
from foretell.check.finding import Finding
from foretell.errors import Place
from foretell.events.types import Schema, Type
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.time_bounds import time_bounds
from foretell.language.tree import place_of
from foretell.plan.explain import hints_of
from foretell.plan.performance_hints import Gain

#: From this power on a note tells how matches multiply.
_MANY = 3

_CODES = {
    Gain.INDEXED_ROWS: "unindexed-rows",
    Gain.INDEXED_MATCHES: "unindexed-matches",
    Gain.QUICKER_KERNEL: "slow-kernel",
}

Parameters = Mapping[str, Mapping[str, Type]]


def cost_notes(statement: CheckedStatement, program: CheckedProgram, parameters: Parameters) -> Iterator[Finding]:
    """The notes on one statement. `parameters` are the columns of the FOR EACH tables that are known."""
    yield from _kept_lanes(statement, program.streams)
    if isinstance(statement, CheckedCorrelator):
        yield from _concurrent_form(statement)
        return
    yield from _unbounded_state(statement)
    yield from _many_matches(statement)
    for hint in hints_of(statement, parameters.get(str(statement.tree.table))):
        yield Finding(
            _CODES[hint.gain],
            statement.name,
            "a change would make it quicker" if hint.gain is Gain.QUICKER_KERNEL else _MISSING_INDEX[hint.gain],
            place_of(statement.tree.name),
            hint.text,
        )


_MISSING_INDEX = {
    Gain.INDEXED_ROWS: "each row of the FOR EACH table has an executor of its own: no index serves them together",
    Gain.INDEXED_MATCHES: "an event is compared with every partial match of its lane: no index finds those it extends",
}


def _unbounded_state(subscription: CheckedSubscription) -> Iterator[Finding]:
    """The first operator at which partial matches wait for ever."""
    if subscription.within is not None:
        return
    waits = next(_endless_waits(subscription.pattern), None)
    if waits is None:
        return
    before, after, place = waits
    hint = "add WITHIN"
    first, last = subscription.positive[0], subscription.positive[-1]
    if any((bound.earlier, bound.later) == (first, last) for bound in time_bounds(subscription)):
        hint = f"add WITHIN: the time condition between '{first}' and '{last}' ends matches, but frees no memory"
    elif time_bounds(subscription):
        hint = "add WITHIN: time conditions between single steps free no memory"
    message = f"partial matches with '{before}' wait for '{after}' for ever: memory grows with each of them"
    yield Finding("unbounded-state", subscription.name, message, place, hint)


def _endless_waits(pattern: tree.Pattern) -> Iterator[tuple[str, str, Place]]:
    """The steps before and after each `;` or `&`, and the place."""
    for node in pattern.walk():
        match node:
            case tree.Sequence(parts=parts):
                for before, part in pairwise(parts):
                    if isinstance(part.operator, tree.Later):
                        yield _last_step(before.pattern), _first_step(part.pattern), part.operator.place
            case tree.Conjunction(sides=sides):
                yield _first_step(sides[0]), _first_step(sides[1]), node.place
            case tree.Repeat(body=body, high=high, under=tree.Later()) if high != 1:
                yield _last_step(body), _first_step(body), node.place


def _first_step(pattern: tree.Pattern) -> str:
    return next(str(node.name) for node in pattern.walk() if isinstance(node, tree.Step))


def _last_step(pattern: tree.Pattern) -> str:
    return [str(node.name) for node in pattern.walk() if isinstance(node, tree.Step)][-1]


def _many_matches(subscription: CheckedSubscription) -> Iterator[Finding]:
    growth = growth_of(subscription.pattern)
    if growth.cause is not None:
        if subscription.within is not None:
            yield exponential_matches(subscription, growth.cause, "many-matches")
    elif growth.degree >= _MANY:
        where = "a lane" if subscription.within is None else "a window"
        power = {3: "cube", 4: "fourth power"}.get(growth.degree, f"{growth.degree}th power")
        shorter = "add WITHIN" if subscription.within is None else "shorten WITHIN"
        yield Finding(
            "many-matches",
            subscription.name,
            f"matches multiply with the {power} of the events of {where} that satisfy the steps",
            growth.free[0].place.through(growth.free[-1].place),
            f"{shorter}, compare the steps by equalities, or choose: FIRST, LAST, AFTER MATCH",
        )


def _kept_lanes(statement: CheckedStatement, streams: Mapping[str, Schema]) -> Iterator[Finding]:
    """Lanes that stay for good because notifications show the number of an event in its lane."""
    per = statement.tree.per
    unnamed = [str(name) for name in statement.tree.streams if name in streams and streams[name].id is None]
    declared = [name for name in unnamed if streams[name].time is not None]
    if per and declared:
        yield Finding(
            "kept-lanes",
            statement.name,
            f"the lanes of keys that never return are kept: stream '{declared[0]}' has no ID, and its events are "
            "numbered in their lane",
            place_of(per[0]),
            f"declare it: STREAM {declared[0]} (...) TIME {streams[declared[0]].time} ID attribute",
        )


def _concurrent_form(correlator: CheckedCorrelator) -> Iterator[Finding]:
    from foretell.correlate.explanation import explain_correlator  # loads kernels
    from foretell.plan.strategy import CorrelatorForm

    explained = explain_correlator(correlator)
    if explained.form == CorrelatorForm.CONCURRENT.value:
        yield Finding(
            "many-states",
            correlator.name,
            f"it runs concurrently, at a half to a fifth of the speed: {explained.why}",
            correlator.tree.expression.place,
            "divide it into correlators of which one reads the tokens of the other, or lower its counts",
        )
