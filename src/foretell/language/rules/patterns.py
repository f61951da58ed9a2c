"""Rules of patterns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from lark import Token, Transformer, v_args

from foretell.errors import Place, refuse
from foretell.language import tree
from foretell.language.rules.tokens import name_of, span_of, token_place, whole_number
from foretell.language.tree import Operator, Pattern


@v_args(inline=True)
class PatternRules(Transformer[Token, tree.Program]):
    def alternation(self, left: Pattern, right: Pattern) -> tree.Alternation:
        return tree.alternation(left, right, place=span_of(left, right))

    def conjunction(self, left: Pattern, right: Pattern) -> tree.Conjunction:
        return tree.conjunction(left, right, place=span_of(left, right))

    def sequence(self, *pieces: Any) -> Pattern:
        return _sequence(pieces)

    def next(self) -> Operator:
        return tree.Next()

    def later(self, token: Token) -> Operator:
        return tree.Later(place=token_place(token))

    def first_where(self, token: Token, condition: tree.Expression) -> Operator:
        return tree.FirstWhere(condition, place=token_place(token).through(condition.place))

    def negation(self, step: tree.Step, *conditions: tree.Expression) -> tree.Negation:
        return tree.Negation(step, conditions, place=step.place)

    def choose_first(self, pattern: Pattern) -> Pattern:
        return _choose("FIRST", pattern)

    def choose_last(self, pattern: Pattern) -> Pattern:
        return _choose("LAST", pattern)

    def conditioned(self, pattern: Pattern, condition: tree.Expression) -> tree.Conditioned:
        inner = pattern
        while isinstance(inner, tree.Repeat | tree.Numbered | _Group):
            inner = inner.pattern if isinstance(inner, _Group) else _body_of(inner)
        # A pattern that has a condition already was checked when it got it.
        if not isinstance(inner, tree.Step | tree.Chosen | tree.Conditioned):
            refuse(
                "condition-on-group",
                "@(...) is a further condition on one step, not on a group",
                condition.place,
                "put it behind one of the group's steps",
            )
        return tree.Conditioned(_ungroup(pattern), condition, place=pattern.place)

    def repeat(self, body: Pattern, quantifier: tuple[int, int | None], under: Operator | None) -> tree.Repeat:
        low, high = quantifier
        return tree.Repeat(_ungroup(body), low, high, under, place=body.place)

    def numbered(self, pattern: Pattern, number: tree.Literal) -> tree.Numbered:
        step = _ungroup(pattern)
        if not isinstance(step, tree.Step):
            message = "[i] selects among the events of one step, not of a group"
            refuse("numbered-group", message, pattern.place, "put it behind one of the group's steps")
        return tree.Numbered(step, whole_number(number, "the index in [ ]", 1), place=step.place)

    def condition(self, expression: tree.Expression) -> tree.Expression:
        return expression

    def optional(self) -> tuple[int, int | None]:
        return 0, 1

    def any_number(self) -> tuple[int, int | None]:
        return 0, None

    def at_least_one(self) -> tuple[int, int | None]:
        return 1, None

    def exactly(self, number: tree.Literal) -> tuple[int, int | None]:
        times = whole_number(number, "a repetition count", 1)
        return times, times

    def at_least(self, number: tree.Literal) -> tuple[int, int | None]:
        return whole_number(number, "a repetition count", 0), None

    def between_times(self, low: tree.Literal, high: tree.Literal) -> tuple[int, int | None]:
        least, most = whole_number(low, "a repetition count", 0), whole_number(high, "a repetition count", 1)
        if most < least:
            message = f"the repetition {{{least},{most}}} has its bounds in the wrong order"
            refuse("empty-range", message, span_of(low, high), f"write {{{most},{least}}}")
        return least, most

    def group(self, pattern: Pattern) -> Pattern:
        return _Group(pattern, place=pattern.place)

    def step(self, token: Token) -> tree.Step:
        name = name_of(token)
        return tree.Step(name, place=name.place)


class _Group(Pattern):
    """A pattern in parentheses; the rule around it decides what they mean."""

    def __init__(self, pattern: Pattern, place: Place) -> None:
        super().__init__(place=place)
        object.__setattr__(self, "pattern", pattern)

    pattern: Pattern


def _ungroup(pattern: Pattern) -> Pattern:
    return pattern.pattern if isinstance(pattern, _Group) else pattern


def _body_of(pattern: tree.Repeat | tree.Numbered) -> Pattern:
    return pattern.body if isinstance(pattern, tree.Repeat) else pattern.step


def _choose(which: str, pattern: Pattern) -> Pattern:
    """`FIRST a @(c)`: the choice goes inside the condition; both orders mean the same. `FIRST a?` is `(FIRST a)?`."""
    if isinstance(pattern, tree.Conditioned):
        return tree.Conditioned(_choose(which, pattern.pattern), pattern.condition, place=pattern.place)
    step = _ungroup(pattern)
    if isinstance(step, tree.Repeat) and step.high == 1:
        return replace(step, body=_choose(which, step.body))
    if not isinstance(step, tree.Step):
        message = f"{which} chooses among the events of one step, not of a group or a repetition"
        refuse("chosen-group", message, pattern.place, f"put {which} before a single step")
    return tree.Chosen(which, step, place=step.place)


def _sequence(pieces: tuple[Any, ...]) -> Pattern:
    """A sequence of alternating elements and operators; a negation goes to the part after it, or to the end."""
    elements: list[Any] = [_ungroup(e) if isinstance(e, Pattern) else e for e in pieces[::2]]
    operators: list[Operator | None] = [None, *pieces[1::2]]
    if all(isinstance(e, tree.Negation) for e in elements):
        _check_beside(elements, operators)
        return tree.Silence(tuple(elements), place=elements[0].place)
    if len(elements) == 1:
        return cast(Pattern, elements[0])
    _check_beside(elements, operators)
    parts: list[tree.SequencePart] = []
    waiting: list[tree.Negation] = []
    for element, operator in zip(elements, operators, strict=True):
        if isinstance(element, tree.Negation):
            waiting.append(element)
        else:
            parts.append(tree.SequencePart(element, operator if parts else None, tuple(waiting), place=element.place))
            waiting = []
    place = elements[0].place.through(elements[-1].place)
    return tree.sequence(tuple(parts), tuple(waiting), place=place)


def _check_beside(elements: list[Any], operators: list[Operator | None]) -> None:
    """Allows `;` next to a negation, and `;{θ}` between the last negation and the part after it."""
    for i, element in enumerate(elements):
        if not isinstance(element, tree.Negation):
            continue
        before = operators[i]
        after = operators[i + 1] if i + 1 < len(operators) else None
        if isinstance(before, tree.Next) or isinstance(after, tree.Next):
            refuse(
                "negation-next",
                f"'!{element.step.name}' cannot stand next to ','",
                element.place,
                "use ';' instead: between an event and the very next one there is nothing",
            )
        leading = not any(isinstance(e, Pattern) for e in elements[:i])
        if isinstance(before, tree.FirstWhere) or (isinstance(after, tree.FirstWhere) and leading):
            name = element.step.name
            refuse(
                "negation-where",
                f"';{{...}}' cannot stand next to '!{name}' here",
                (before if isinstance(before, tree.FirstWhere) else after or element).place,
                f"write !{name} ; Q" if leading else f"write P ; !{name} ;{{condition}} Q",
            )
