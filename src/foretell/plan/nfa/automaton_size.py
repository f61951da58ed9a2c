"""The size of an automaton: its limits, and the part of a pattern that goes beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import prod
from typing import NamedTuple, NoReturn

from foretell.errors import LanguageError
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import can_be_empty
from foretell.language.printer import pattern_text
from foretell.plan.nfa.counters import PatternCounters, sequence_steps

#: A pattern whose automaton has more edges than these (unless `Limits.edges` says otherwise), and two for each of its
#: steps, is refused: so the time that planning takes is bounded by the length of the text.
MOST_EDGES = 3_000

#: With more states than this, counters take the place of some.
MOST_FINE_STATES = 1_000

#: A part of a pattern is shown up to so many characters.
_SHOWN = 60


def asked_steps(subscription: CheckedSubscription) -> set[str]:
    """The steps of which something asks whether they are bound: those that conditions name, and those of a conjunction
    with a θ, which asks when its side began."""
    asked: set[str] = set()
    for step in subscription.steps.values():
        for expression in (*step.conditions, *(value for _, value in step.binders), *step.counted):
            asked |= expression.named_steps
    for node in subscription.pattern.walk():
        match node:
            case tree.FirstWhere(condition=condition):
                asked |= condition.named_steps
            case tree.Conjunction():
                inside = list(node.walk())
                if any(isinstance(inner, tree.FirstWhere) for inner in inside):
                    asked |= {str(inner.name) for inner in inside if isinstance(inner, tree.Step)}
    return asked


def most_edges(subscription: CheckedSubscription, edges: int = MOST_EDGES) -> int:
    """The most edges that the automaton of a subscription may have, and the most states, where the limit is `edges`."""
    return edges + 2 * len(subscription.steps)


def is_too_large(subscription: CheckedSubscription, counters: PatternCounters, edges: int) -> bool:
    """Whether a pattern certainly needs too many states or edges, before any is made."""
    size = _LeastSize(counters, asked_steps(subscription)).of(subscription.pattern)
    return max(size) > most_edges(subscription, edges)


def refuse(subscription: CheckedSubscription, counters: PatternCounters, edges: int) -> NoReturn:
    """Refuses a pattern that needs too many states, with the part that causes it."""
    cause, why, hint = _cause(subscription.pattern, _LeastSize(counters, asked_steps(subscription)), edges)
    text = pattern_text(cause)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 2]} …"
    raise LanguageError(
        "too-large",
        f"'{subscription.name}' needs more than {most_edges(subscription, edges):,} edges: {why} in `{shown}`",
        place=cause.place,
        hint=f"{hint}; or raise Limits.edges, which is {edges:,}",
    )


def _cause(pattern: tree.Pattern, least: _LeastSize, edges: int) -> tuple[tree.Pattern, str, str]:
    """The part of a pattern that needs most states, why, and how to write it otherwise."""
    conjunctions = [node for node in pattern.walk() if isinstance(node, tree.Conjunction)]
    widest = max(conjunctions, key=lambda node: least.of(node).edges, default=None)
    if widest is not None and least.of(widest).edges > edges // 5:
        return (
            widest,
            f"the events of {len(widest.sides)} sides may come in any order",
            "put fewer parts beside each other with &, or single steps alone, outside of a repetition",
        )
    skipped = max(_optional_runs(pattern), key=lambda found: found[1], default=(pattern, 0))
    if skipped[1] > 50:
        return (
            skipped[0],
            f"each of {skipped[1]} optional parts may be followed by each later one",
            "make fewer parts optional, or write several steps as one whose condition has an OR",
        )
    loops = [node for node in pattern.walk() if isinstance(node, tree.Repeat) and node.high != 1]
    return (
        max(loops, key=lambda node: sum(1 for _ in node.walk()), default=pattern),
        "conditions depend on which of the steps are bound",
        "name fewer steps in conditions of others, or write alternatives as one step whose condition has an OR",
    )


def _optional_runs(pattern: tree.Pattern) -> Iterator[tuple[tree.Pattern, int]]:
    """The sequences of a pattern, each with the number of its parts that can be left out."""
    for node in pattern.walk():
        if isinstance(node, tree.Sequence):
            yield node, sum(isinstance(part.pattern, tree.Repeat) and part.pattern.low == 0 for part in node.parts)


class _Size(NamedTuple):
    """A number of terms between the first and the last event of a pattern, and of edges within it."""

    terms: int
    edges: int


class _LeastSize:
    """The least size of the automata of patterns."""

    def __init__(self, counters: PatternCounters, asked: Set[str]) -> None:
        self._counters, self._asked = counters, asked
        self._known: dict[int, _Size] = {}

    def of(self, pattern: tree.Pattern) -> _Size:
        if id(pattern) not in self._known:
            self._known[id(pattern)] = self._size(pattern)
        return self._known[id(pattern)]

    def _size(self, pattern: tree.Pattern) -> _Size:
        match pattern:
            case tree.Repeat(body=tree.Alternation(branches=branches) as body, high=None):
                # Any of the steps may be bound by then, and states tell apart which of those that something asks for.
                asked = sum(isinstance(branch, tree.Step) and branch.name in self._asked for branch in branches)
                return _Size(max(2**asked, self.of(body).terms), self.of(body).edges)
            case tree.Repeat(body=body):
                return self.of(body)
            case tree.Alternation(branches=branches):
                sizes = [self.of(branch) for branch in branches]
                return _Size(sum(s.terms for s in sizes), sum(s.edges for s in sizes))
            case tree.Sequence(parts=parts):
                sizes = [self.of(part.pattern) for part in parts]
                # Where a part may be left out, an edge goes on to each part after it, up to one that may not.
                following, edges, terms = 0, sum(s.edges for s in sizes), sum(s.terms for s in sizes)
                for part in reversed(parts):
                    terms += following > 0
                    edges += following
                    following = following + 1 if can_be_empty(part.pattern) else 1
                return _Size(terms, edges)
            case tree.Conjunction(sides=sides):
                return self._of_conjunction(pattern, sides)
        return _Size(0, 1)

    def _of_conjunction(self, pattern: tree.Conjunction, sides: tuple[tree.Pattern, ...]) -> _Size:
        """Each side has not begun, is within, or is done, whatever the others are; so are those gathered, together."""
        gathered = self._counters.gathered(pattern)
        ways = [self.of(side).terms + 2 for i, side in enumerate(sides) if i not in gathered]
        terms = prod(ways) * (2 if gathered else 1)
        # No edge goes on from a side that is done. Whole numbers: those of a thousand sides are beyond any float.
        moving = sum(terms // way * (way - 1) for way in ways)
        # Where the gathered steps are not all there, the last of each side may be the last of all or not.
        gathering = sum(len(sequence_steps(sides[i])) + 1 for i in gathered)
        return _Size(terms - 2, moving + prod(ways) * gathering)
