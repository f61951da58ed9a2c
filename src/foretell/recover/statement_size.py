"""How much a statement with LOSING needs, known before anything is planned: patterns, and tables of delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.pattern_gaps import Gap, possible_gaps
from foretell.events.delays.scores import Score
from foretell.language.checked import CheckedSubscription
from foretell.language.loss_rates import losable_steps
from foretell.language.reduced_patterns import places
from foretell.records import record

#: Planning takes time in proportion to the steps: a pattern with more than these counts as several.
_STEPS_OF_A_PATTERN = 10

#: A convolution of smooth delays has an integral at some 400 times, each of a hundred panels. Where the densities jump
#: there are more of both.
_TIMES, _PANELS, _TIMES_WITH_JUMPS = 400, 100, 1_600

#: A delay is narrow where nine of ten come within so many times the time of the first one of ten. Its convolutions cost
#: as much as those of delays with so many jumps.
_NARROW, _NARROW_JUMPS = 1.1, 4

#: Delays with more jumps are the cause where there are too many tables.
_MANY_JUMPS = 20


# ── patterns ──


def pattern_count(subscription: CheckedSubscription, lost: frozenset[str]) -> int:
    """The number of patterns that the candidates without these steps need, a long one counted as several."""
    positive = subscription.positive
    present = [step for step in positive if step not in lost]
    first = positive.index(present[0])
    patterns = 2 if first > 0 and subscription.within is not None else 1
    for step in lost:
        at = positive.index(step)
        if at > first:
            # Seen later, the step is an event of the candidate after its gap, or another one after any of these.
            after = sum(1 for other in positive[at:] if other in present)
            patterns += 2 * max(after, 1) - 1
    return patterns * -(-len(subscription.steps) // _STEPS_OF_A_PATTERN)


def too_many_patterns(subscription: CheckedSubscription, most: int) -> InputError:
    losable = losable_steps(subscription)
    message = f"subscription '{subscription.name}': LOSING of {len(losable)} steps needs more than {most:,} patterns: "
    message += "each set of steps that may be lost together has patterns of its own"
    hint = f"name the steps that are lost most often: LOSING 0.05 OF {', '.join(losable[:2])}; or raise ABOVE, or "
    return InputError("losing-many", message, hint=f"{hint}Limits.patterns, which is {most:,}")


# ── tables ──


def check_tables(subscription: CheckedSubscription, model: DelayModel, most: int) -> None:
    """Refuses a statement that needs more tables of delays than these."""
    count, largest = 0, None
    for needed in _tables(subscription, model):
        count += needed.count
        if largest is None or needed.count > largest.count:
            largest = needed
        if count > most:
            raise _too_many_tables(subscription, largest, most)


@record
class _GapTables:
    """The number of tables that a gap, or the gaps at both edges, need beyond those of smaller ones; the places that
    they may hide; and the most jumps of the density of a delay there."""

    count: int
    hidden: tuple[str, ...]
    jumps: int


def _tables(subscription: CheckedSubscription, model: DelayModel) -> Iterator[_GapTables]:
    order, losing = places(subscription), subscription.tree.losing
    assert losing is not None
    befores, afters = list[Gap](), list[Gap]()
    for gap in possible_gaps(order, model, windowed=subscription.within is not None):
        if gap.end is None:
            (befores if gap.backwards else afters).append(gap)
        if gap.losable:
            yield _of_gap(gap, losing.score)
    at = {place.name: number for number, place in enumerate(order)}
    for before, after in product(befores, afters):
        if at[before.origin] <= at[after.origin] and before.lost and after.lost:
            yield _of_edges(before, after, losing.score)


def _of_gap(gap: Gap, score: Score) -> _GapTables:
    hidden = [place for place in gap.hidden if place.loss > 0]
    lost, jumps = len(gap.lost), _jumps(gap)
    # The probability, and the intervals of the last of several lost steps.
    convolutions = 2 * (lost - 1) if lost > 1 else 0
    if _knows_ends(gap, score):
        # A way to each of the places that a smaller gap has not, from every one before it.
        new = len(hidden) - max((n for n, place in enumerate(hidden[:-1]) if not place.negated), default=-1) - 1
        convolutions += sum(len(hidden) - place for place in range(1, new + 1))
    return _GapTables(1 + len(hidden) // 3 + convolutions * _weight(jumps), tuple(p.name for p in hidden), jumps)


def _of_edges(before: Gap, after: Gap, score: Score) -> _GapTables:
    """Lost steps at both edges share the window: their intervals, and their probability where the ends are known."""
    jumps = max(_jumps(before), _jumps(after))
    convolutions = len(before.lost) + len(after.lost)
    convolutions += 1 if _knows_ends(before, score) and _knows_ends(after, score) else -2
    return _GapTables(1 + convolutions * _weight(jumps), (*before.lost, *after.lost), jumps)


def _knows_ends(gap: Gap, score: Score) -> bool:
    return score is Score.BOTH_ENDS and gap.hidden_steps is not None


def _jumps(gap: Gap) -> int:
    """The most jumps of the density of a delay."""
    return max(map(_jumps_of, gap.delays), default=0)


def _jumps_of(delay: DelayDistribution) -> int:
    low, high = delay.law.quantile(np.array([0.1, 0.9])).tolist()
    return max(len(delay.law.kinks), _NARROW_JUMPS if high < _NARROW * low else 0)


def _weight(jumps: int) -> int:
    """The cost of a convolution of two delays whose densities have so many jumps, beside one of smooth ones."""
    times = _TIMES_WITH_JUMPS + 4 * jumps if jumps else _TIMES
    return round((_PANELS + 2 * jumps) * times / (_PANELS * _TIMES))


def _too_many_tables(subscription: CheckedSubscription, largest: _GapTables, most: int) -> InputError:
    message = f"subscription '{subscription.name}': LOSING needs more than {most:,} tables of delays"
    message += f": a gap may hide {_named(largest.hidden)}"
    hint = f"name the steps that are lost most often: LOSING 0.05 OF {losable_steps(subscription)[0]}"
    if largest.jumps > _MANY_JUMPS:
        message += f", and a delay has {largest.jumps:,} points"
        hint = "give fewer points, or a distribution such as gamma or lognormal"
    hint += f"; or raise Limits.tables, which is {most:,}"
    return InputError("losing-many", message, hint=hint)


def _named(steps: Iterable[str]) -> str:
    names = list(steps)
    shown = ", ".join(f"'{name}'" for name in names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
