"""The growth of the number of matches with the number of events, by the pattern alone.

Under `;` an event may be bound whatever comes between: each such step multiplies the matches by the number of events
that satisfy it. Under `,` and `;{θ}` the events so far decide which event is next. A step that repeats under `;`
without an upper bound matches every selection of its events, of which there are exponentially many.
"""

from __future__ import annotations

from foretell.language import tree
from foretell.records import record


@record
class Growth:
    """The matches of n events are about n to the power `degree`; with `cause`, exponentially many because of it.

    `free` are the steps that multiply the matches.
    """

    free: tuple[tree.Step, ...] = ()
    lengths: int = 0
    cause: tree.Repeat | None = None

    @property
    def degree(self) -> int:
        return len(self.free) + self.lengths

    def __add__(self, other: Growth) -> Growth:
        """The growth of two patterns whose matches combine."""
        return Growth(self.free + other.free, self.lengths + other.lengths, self.cause or other.cause)


_NONE = Growth()

#: Rounds beyond these are as good as exponential.
MOST_ROUNDS = 10


def growth_of(pattern: tree.Pattern, lead: tree.Operator | None = None) -> Growth:
    """The growth of a settled pattern under the operator that leads to it, None where it comes first."""
    match pattern:
        case tree.Step():
            return _NONE if isinstance(lead, tree.Next | tree.FirstWhere) else Growth((pattern,))
        case tree.Numbered(step=step):
            return Growth((step,)) if lead is None else _NONE
        case tree.Conditioned(pattern=inner):
            return growth_of(inner, lead)
        case tree.Repeat():
            return _repeated(pattern, lead)
        case tree.Sequence(parts=parts):
            total = growth_of(parts[0].pattern, parts[0].operator or lead)
            for part in parts[1:]:
                total += growth_of(part.pattern, part.operator)
            return total
        case tree.Conjunction(sides=sides):
            return _conjunction(sides, lead)
        case tree.Alternation(branches=branches):
            return max((growth_of(branch, lead) for branch in branches), key=_rank)
    return _NONE


def _rank(growth: Growth) -> tuple[bool, int]:
    return growth.cause is not None, growth.degree


def _repeated(pattern: tree.Repeat, lead: tree.Operator | None) -> Growth:
    first, round_after = growth_of(pattern.body, lead), growth_of(pattern.body, pattern.under)
    high = pattern.high
    if high == 1:
        return first
    multiplies = round_after.degree > 0
    if multiplies and (high is None or high > MOST_ROUNDS):
        return Growth(first.free, first.lengths, first.cause or pattern)
    if high is None:
        return first + Growth(lengths=1)
    for _ in range(high - 1 if multiplies else 0):
        first += round_after
    return first


def _conjunction(sides: tuple[tree.Pattern, ...], lead: tree.Operator | None) -> Growth:
    """Only the earliest event of a conjunction is under the operator that leads to it."""
    total = _NONE
    for side in sides:
        total += growth_of(side, tree.Later())
    return Growth(total.free[1:], total.lengths, total.cause) if isinstance(lead, tree.Next) else total
