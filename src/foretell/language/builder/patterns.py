"""Patterns: sequences, conjunctions, alternations and repetitions of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from foretell.language import tree
from foretell.language.builder.errors import NotIterable, builder_error
from foretell.language.builder.expressions import ExpressionBuilder, condition_tree
from foretell.language.builder.literals import whole
from foretell.language.printer import pattern_text

#: The operator of a repetition: `a+<,>`, `a+<;>`, `a+<;{θ}>`.
Under: TypeAlias = Literal[",", ";"] | ExpressionBuilder


class PatternBuilder(NotIterable):
    """A pattern of steps: `.then` and `.next` for sequences, `&` for both, `|` for either, `~b` for none.

    >>> from foretell.build import event, steps
    >>> a, b, c, d = steps("a", "b", "c", "d")
    >>> a.then(~b).then(c.some(), where=event.name == a.name) | a.next(d)
    (a ; !b ;{name = a.name} c+) | (a , d)
    """

    _tree: tree.Pattern

    def __init__(self, node: tree.Pattern) -> None:
        self._tree = node

    def __repr__(self) -> str:
        return pattern_text(self._tree)

    # ── sequences ──

    def then(self, following: PatternBuilder, *, where: ExpressionBuilder | None = None) -> PatternBuilder:
        """`P ; Q`, any later event; with `where`, `P ;{θ} Q`, the first later event for which it holds."""
        if where is None:
            return _followed(self, tree.Later(), following)
        return _followed(self, tree.FirstWhere(condition_tree(where, "where=")), following)

    def next(self, following: PatternBuilder) -> PatternBuilder:
        """`P , Q`: the very next event."""
        return _followed(self, tree.Next(), following)

    # ── conjunction, alternation, negation ──

    def __and__(self, other: PatternBuilder) -> PatternBuilder:
        return PatternBuilder(tree.conjunction(self._tree, pattern_tree(other, "&")))

    def __or__(self, other: PatternBuilder) -> PatternBuilder:
        return PatternBuilder(tree.alternation(self._tree, pattern_tree(other, "|")))

    def __invert__(self) -> PatternBuilder:
        """`!b`: no such event."""
        conditions: tuple[tree.Expression, ...] = ()
        inner = self._tree
        while isinstance(inner, tree.Conditioned):
            conditions = (inner.condition, *conditions)
            inner = inner.pattern
        if not isinstance(inner, tree.Step):
            hint = "negate single steps; for none of several write a.then(~b).then(~c)"
            raise builder_error("negated-group", f"~ takes one step, not '{self!r}'", hint)
        return PatternBuilder(tree.Silence((tree.Negation(inner, conditions),)))

    def at(self, condition: ExpressionBuilder) -> PatternBuilder:
        """`a @(condition)`, a further condition on one step: `c.at(t(c) - t(a) < minutes(5))`."""
        further = condition_tree(condition, "at()")
        if isinstance(self._tree, tree.Silence) and len(self._tree.absent) == 1:
            negation = self._tree.absent[0]
            return PatternBuilder(tree.Silence((tree.Negation(negation.step, (*negation.conditions, further)),)))
        if not _is_one_step(self._tree):
            hint = "put it behind one of the group's steps"
            raise builder_error("condition-on-group", "at() is a further condition on one step, not on a group", hint)
        return PatternBuilder(tree.Conditioned(self._tree, further))

    # ── repetitions ──

    def optional(self, *, under: Under | None = None) -> PatternBuilder:
        """`P?`: once or not at all."""
        return self._repeated(0, 1, under)

    def some(self, *, under: Under | None = None) -> PatternBuilder:
        """`P+`: once or more."""
        return self._repeated(1, None, under)

    def any_number(self, *, under: Under | None = None) -> PatternBuilder:
        """`P*`: any number of times, also none."""
        return self._repeated(0, None, under)

    def times(self, low: int, high: int | None = None, *, under: Under | None = None) -> PatternBuilder:
        """`P{low}` or `P{low,high}`."""
        if high is None:
            low = high = whole(low, "a repetition count", 1)
        low, high = whole(low, "a repetition count", 0), whole(high, "a repetition count", 1)
        if high < low:
            message = f"the repetition from {low} to {high} has its bounds in the wrong order"
            raise builder_error("empty-range", message, f"write times({high}, {low})")
        return self._repeated(low, high, under)

    def at_least(self, low: int, *, under: Under | None = None) -> PatternBuilder:
        """`P{low,}`."""
        return self._repeated(whole(low, "a repetition count", 0), None, under)

    def _repeated(self, low: int, high: int | None, under: Under | None) -> PatternBuilder:
        operator: tree.Operator | None = None
        if isinstance(under, str):
            operator = {",": tree.Next(), ";": tree.Later()}.get(under)
            if operator is None:
                raise builder_error("not-an-operator", f"under= takes ',', ';' or a condition, not {under!r}")
        elif under is not None:
            operator = tree.FirstWhere(condition_tree(under, "under="))
        return PatternBuilder(tree.Repeat(self._tree, low, high, operator))

    if not TYPE_CHECKING:

        def __bool__(self) -> NoReturn:
            raise builder_error(
                "no-truth",
                f"the pattern '{self!r}' is neither true nor false before the events come",
                "write & for both in any order, | for either, ~b for no b, a.then(b) for one after the other",
            )

        def __contains__(self, part: object) -> NoReturn:
            raise builder_error("no-truth", f"'in' cannot look into the pattern '{self!r}'")


def pattern_tree(pattern: object, where: str) -> tree.Pattern:
    if isinstance(pattern, PatternBuilder):
        return pattern._tree
    if isinstance(pattern, ExpressionBuilder):
        hint = "define a step with it: b = step('b'), and .define(b, condition)"
        raise builder_error("not-a-pattern", f"{where} takes a step or a pattern, '{pattern!r}' is a condition", hint)
    hint = "make a step with step('a')"
    if isinstance(pattern, tuple | list):
        hint = "make a sequence with a.then(b) or a.next(b)"
    raise builder_error("not-a-pattern", f"{where} takes a step or a pattern, not {pattern!r}", hint)


def _is_one_step(pattern: tree.Pattern) -> bool:
    match pattern:
        case tree.Conditioned(pattern=inner) | tree.Repeat(body=inner):
            return _is_one_step(inner)
    return isinstance(pattern, tree.Step | tree.Numbered | tree.Chosen)


def _followed(left: PatternBuilder, operator: tree.Operator, right: PatternBuilder) -> PatternBuilder:
    """The tree of `left operator right`: negations go to the part they stand before, or to the end."""
    before, after = left._tree, pattern_tree(right, "next()" if isinstance(operator, tree.Next) else "then()")
    waiting = before.absent if isinstance(before, tree.Sequence | tree.Silence) else ()
    if isinstance(after, tree.Silence):
        _check_beside(after.absent[0], operator, between=False)
        if isinstance(before, tree.Silence):
            return PatternBuilder(tree.Silence((*waiting, *after.absent)))
        parts = before.parts if isinstance(before, tree.Sequence) else (tree.SequencePart(before),)
        return PatternBuilder(tree.Sequence(parts, (*waiting, *after.absent)))
    if waiting:
        _check_beside(waiting[-1], operator, between=isinstance(before, tree.Sequence))
    if isinstance(before, tree.Silence):
        return PatternBuilder(tree.sequence((tree.SequencePart(after, None, waiting),)))
    if isinstance(before, tree.Sequence):
        return PatternBuilder(tree.Sequence((*before.parts, tree.SequencePart(after, operator, waiting))))
    return PatternBuilder(tree.sequence((tree.SequencePart(before), tree.SequencePart(after, operator))))


def _check_beside(negation: tree.Negation, operator: tree.Operator, *, between: bool) -> None:
    """Allows `;` next to a negation, and `;{θ}` behind one that stands between two parts."""
    if isinstance(operator, tree.Next):
        hint = "use then() instead: between an event and the very next one there is nothing"
        raise builder_error("negation-next", f"'~{negation.step.name}' cannot stand next to next()", hint)
    if isinstance(operator, tree.FirstWhere) and not between:
        message = f"where= cannot stand next to '~{negation.step.name}' here"
        raise builder_error("negation-where", message, "write a.then(~b).then(c, where=condition)")
