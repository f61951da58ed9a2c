"""Rules of expressions."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer, v_args

from foretell.errors import refuse
from foretell.events.types import parse_timestamp
from foretell.language import tree
from foretell.language.rules.calls import attribute_of, call_of, event_named
from foretell.language.rules.tokens import QuotedName, name_of, number_of, span_of, text_of, token_place
from foretell.language.tree import Name
from foretell.language.type_rules import timestamp_hint

_UNITS = {
    "microsecond": "us",
    "millisecond": "ms",
    "sec": "s",
    "second": "s",
    "minute": "min",
    "h": "hours",
    "hour": "hours",
    "d": "days",
    "day": "days",
    "week": "weeks",
}


@v_args(inline=True)
class ExpressionRules(Transformer[Token, tree.Program]):
    def disjunction(self, left: tree.Expression, right: tree.Expression) -> tree.Binary:
        return tree.Binary("OR", left, right, place=span_of(left, right))

    def conjunction_of(self, left: tree.Expression, right: tree.Expression) -> tree.Binary:
        return tree.Binary("AND", left, right, place=span_of(left, right))

    def inversion(self, operand: tree.Expression) -> tree.Unary:
        return tree.Unary("NOT", operand, place=operand.place)

    def comparison(self, left: tree.Expression, operator: Token, right: tree.Expression) -> tree.Binary:
        return tree.Binary("<>" if operator == "!=" else str(operator), left, right, place=span_of(left, right))

    def within_list(self, value: tree.Expression, negated: Token | None, *options: tree.Expression) -> tree.In:
        return tree.In(value, options, negated is not None, place=span_of(value, options[-1]))

    def between(
        self, value: tree.Expression, negated: Token | None, low: tree.Expression, high: tree.Expression
    ) -> tree.Between:
        return tree.Between(value, low, high, negated is not None, place=span_of(value, high))

    def like(self, value: tree.Expression, negated: Token | None, pattern: tree.Expression) -> tree.Like:
        return tree.Like(value, pattern, negated is not None, place=span_of(value, pattern))

    def is_null(self, value: tree.Expression, negated: Token | None, null: Token) -> tree.IsNull:
        return tree.IsNull(value, negated is not None, place=value.place.through(token_place(null)))

    def arithmetic(self, left: tree.Expression, operator: Token, right: tree.Expression) -> tree.Binary:
        return tree.Binary(str(operator), left, right, place=span_of(left, right))

    def negative(self, operand: tree.Expression) -> tree.Expression:
        value = operand.value if isinstance(operand, tree.Literal) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return tree.Literal(-value, place=operand.place)
        if isinstance(operand, tree.Span):
            return tree.Span(-operand.amount, operand.unit, place=operand.place)
        return tree.Unary("-", operand, place=operand.place)

    def text(self, token: Token) -> tree.Literal:
        return tree.Literal(text_of(token), place=token_place(token))

    def true(self, token: Token) -> tree.Literal:
        return tree.Literal(True, place=token_place(token))

    def false(self, token: Token) -> tree.Literal:
        return tree.Literal(False, place=token_place(token))

    def null(self, token: Token) -> tree.Literal:
        return tree.Literal(None, place=token_place(token))

    def moment(self, token: Token) -> tree.Moment:
        try:
            return tree.Moment(parse_timestamp(text_of(token)), place=token_place(token))
        except ValueError:
            refuse("not-timestamp", f"{token} is not a date and time", token_place(token), timestamp_hint())

    def variable(self, token: Token) -> tree.Variable:
        return tree.Variable(str(token[1:]), place=token_place(token))

    def parameter(self, token: Token) -> tree.Parameter:
        return tree.Parameter(str(token[1:]), place=token_place(token))

    def bare(self, name: Name) -> tree.Expression:
        if not isinstance(name, QuotedName):
            if name.lower() == "duration":
                return tree.Elapsed(place=name.place)
            if name.lower() == "stream":
                return tree.StreamOf(tree.This(), place=name.place)
        return tree.Attribute(tree.This(), name, place=name.place)

    def field(self, owner: Name, name: Name) -> tree.Expression:
        return attribute_of(event_named(owner), name, owner.place.through(name.place))

    def call(self, function: Name, *parts: Any) -> tree.Expression:
        *arguments, field = parts
        return call_of(function, [a for a in arguments if a is not None], field)

    def parenthesised(self, expression: tree.Expression) -> tree.Expression:
        return expression

    def when(self, condition: tree.Expression, value: tree.Expression) -> tuple[tree.Expression, tree.Expression]:
        return condition, value

    def case(self, case: Token, *parts: Any) -> tree.Case:
        *branches, otherwise, end = parts
        conditions, values = zip(*branches, strict=True)
        return tree.Case(conditions, values, otherwise, place=token_place(case).through(token_place(end)))

    def length_with_unit(self, number: Token, unit: Token) -> tree.Span:
        word = unit.lower()
        word = _UNITS.get(word.rstrip("s") if word not in ("s", "ms", "us") else word, word.rstrip("s") or word)
        word = word if word in tree.UNITS else unit.lower()
        span = tree.Span(number_of(number), word, place=token_place(number).through(token_place(unit)))
        if abs(span.amount * tree.UNITS[word]) >= 2**63:
            refuse("too-large", f"{number} {unit} does not fit in 64 bits of microseconds", span.place)
        return span

    def number(self, token: Token) -> tree.Literal:
        return tree.Literal(number_of(token), place=token_place(token))

    def name(self, token: Token) -> Name:
        return name_of(token)
