"""Rules of statements: STREAM, SUBSCRIBE with its clauses, CORRELATE."""

from __future__ import annotations

import re
from typing import Any

from lark import Token, Transformer, v_args

from foretell.errors import LanguageError, closest, offset_of, place_at, refuse
from foretell.events.types import ATTRIBUTE_TYPES
from foretell.language import tree
from foretell.language.rules.tokens import QUOTED_OR_COMMENT, probability_of, text_of, token_place, whole_number
from foretell.language.tree import Name, Pattern

#: What other languages call our types.
_OTHER_TYPES = {
    **dict.fromkeys(("VARCHAR", "CHAR", "TEXT"), "STRING"),
    **dict.fromkeys(("BIGINT", "SMALLINT", "LONG"), "INT"),
    **dict.fromkeys(("DOUBLE", "REAL", "DECIMAL", "NUMERIC", "NUMBER"), "FLOAT"),
    **dict.fromkeys(("DATETIME", "DATE", "TIME"), "TIMESTAMP"),
}
_OPTION_KEYWORDS = {
    "id": "ID",
    "order": "ORDER BY",
    "simultaneous": "TIES SIMULTANEOUS",
    "lateness": "LATE BY",
    "losses": "LOSS",
    "nulls": "NULL",
    "derived": "LET",
}
_CLAUSE_KEYWORDS = {
    "definitions": "DEFINE",
    "within": "WITHIN",
    "having": "HAVING",
    "after": "AFTER MATCH",
    "returns": "RETURN",
    "forecast": "FORECAST",
    "losing": "LOSING",
}


class DuplicateClauseError(LanguageError):
    """A clause that a statement has twice. The tree does not keep keywords, so `located_in` finds it in the text."""

    def __init__(self, words: str, name: Name) -> None:
        super().__init__("twice", f"{words} is given twice", place=name.place, hint="delete one of them")
        self._words = words

    def located_in(self, text: str) -> LanguageError:
        masked = QUOTED_OR_COMMENT.sub(lambda found: " " * len(found[0]), text)
        words = re.compile(r"\b(FORECAST\s+)?" + self._words.replace(" ", r"\s+") + r"\b", re.IGNORECASE)
        found = words.finditer(masked, offset_of(masked, self.place))
        # FORECAST has a WITHIN of its own.
        mentions = [m for m in found if m[1] is None]
        place = place_at(text, mentions[1].start(), mentions[1].end()) if len(mentions) > 1 else self.place
        return LanguageError(self.code, self.message, place=place, hint=self.hint)


@v_args(inline=True)
class StatementRules(Transformer[Token, tree.Program]):
    def program(self, *statements: tree.Statement | Token | None) -> tree.Program:
        return tree.Program(tuple(s for s in statements if isinstance(s, tree.Statement)))

    def stream(self, name: Name, *rest: Any) -> tree.Stream:
        declared = tuple(r for r in rest if isinstance(r, tree.Declared))
        time = next(r for r in rest if isinstance(r, Name))
        options: dict[str, Any] = {}
        for option, value in (r for r in rest if isinstance(r, tuple)):
            if option in options:
                raise DuplicateClauseError(_OPTION_KEYWORDS[option], name)
            options[option] = value
        return tree.Stream(name, declared, time, **options, place=name.place)

    def declared(self, name: Name, kind: Name) -> tree.Declared:
        known = {t.value: t for t in ATTRIBUTE_TYPES}
        if kind.upper() not in known:
            meant = _OTHER_TYPES.get(kind.upper()) or closest(kind, known)
            hint = f"did you mean {meant}?" if meant else f"use one of the types {', '.join(known)}"
            refuse("unknown-type", f"unknown type '{kind}'", kind.place, hint)
        return tree.Declared(name, known[kind.upper()], place=name.place)

    def id_option(self, name: Name) -> tuple[str, Any]:
        return "id", name

    def order_option(self, name: Name) -> tuple[str, Any]:
        return "order", name

    def ties_option(self) -> tuple[str, Any]:
        return "simultaneous", True

    def late_option(self, length: tree.Span | tree.Literal) -> tuple[str, Any]:
        return "lateness", length

    def loss_option(self, *losses: tree.Loss) -> tuple[str, Any]:
        return "losses", losses

    def null_option(self, _: Token, *markers: tree.Literal) -> tuple[str, Any]:
        return "nulls", markers

    def let_option(self, *derived: tree.Derived) -> tuple[str, Any]:
        return "derived", derived

    def derived(self, name: Name, expression: tree.Expression) -> tree.Derived:
        return tree.Derived(name, expression, place=name.place)

    def loss(self, probability: tree.Literal, condition: tree.Expression | None) -> tree.Loss:
        return tree.Loss(probability_of(probability), condition, place=probability.place)

    def subscription(
        self,
        name: Name,
        table: Name | None,
        streams: tuple[Name, ...],
        per: tuple[Name, ...] | None,
        pattern: Pattern,
        *clauses: tuple[str, Any],
    ) -> tree.Subscription:
        by_clause: dict[str, Any] = {}
        for clause, value in clauses:
            if clause in by_clause:
                raise DuplicateClauseError(_CLAUSE_KEYWORDS[clause], name)
            by_clause[clause] = value
        return tree.Subscription(name, streams, pattern, table, per or (), **by_clause, place=name.place)

    def define_clause(self, definitions: tuple[tree.Definition, ...]) -> tuple[str, Any]:
        return "definitions", definitions

    def within_clause(self, length: tree.Span | tree.Literal) -> tuple[str, Any]:
        return "within", length

    def having_clause(self, condition: tree.Expression) -> tuple[str, Any]:
        return "having", condition

    def after_clause(self, after: tree.AfterMatch) -> tuple[str, Any]:
        return "after", after

    def return_clause(self, *returned: tree.Returned) -> tuple[str, Any]:
        return "returns", returned

    def forecast_clause(self, horizon: int | tree.Node, above: tree.Literal) -> tuple[str, Any]:
        return "forecast", _forecast(horizon, above)

    def losing_clause(self, *parts: Any) -> tuple[str, Any]:
        *items, above, score = parts
        merged: list[tree.LosingItem] = []
        for item in items:
            if isinstance(item, Name):
                if not merged or not merged[-1].steps:
                    refuse(
                        "unexpected", "expected a probability before the step", item.place, "write LOSING 0.05 OF x, y"
                    )
                last = merged.pop()
                merged.append(tree.LosingItem(last.probability, (*last.steps, item), place=last.place))
            elif item is not None:
                merged.append(item)
        score = tree.Score.BOTH_ENDS if score is None else score
        return "losing", tree.Losing(tuple(merged), probability_of(above), score, place=above.place)

    def score_independent(self) -> tree.Score:
        return tree.Score.INDEPENDENT

    def score_published(self) -> tree.Score:
        return tree.Score.PUBLISHED

    def definitions(self, *definitions: tree.Definition) -> tuple[tree.Definition, ...]:
        return definitions

    def definition(self, *parts: Any) -> tree.Definition:
        *steps, condition = parts
        return tree.Definition(tuple(steps), condition, place=steps[0].place)

    def hold(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.HOLD)

    def consume(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.CONSUME)

    def longest(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.LONGEST)

    def skip_past_last(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.SKIP_PAST_LAST)

    def skip_to_next(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.SKIP_TO_NEXT)

    def skip_to_first(self, step: Name) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.SKIP_TO_FIRST, step, place=step.place)

    def skip_to_last(self, step: Name) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.SKIP_TO_LAST, step, place=step.place)

    def returned(self, expression: tree.Expression, name: Name) -> tree.Returned:
        return tree.Returned(expression, name, place=name.place)

    def event_horizon(self, number: tree.Literal) -> int:
        return whole_number(number, "the horizon", 1)

    def horizon(self, length: tree.Node) -> tree.Node:
        return length

    def losing_item(self, probability: tree.Literal, step: Name | None) -> tree.LosingItem:
        return tree.LosingItem(probability_of(probability), (step,) if step else (), place=probability.place)

    def losing_more(self, step: Name) -> Name:
        return step

    def score(self) -> bool:
        return True

    def correlator(
        self,
        name: Name,
        table: Name | None,
        streams: tuple[Name, ...],
        per: tuple[Name, ...] | None,
        expression: tree.Correlation,
        definitions: tuple[tree.Definition, ...] | None,
        forecast: tree.Forecast | None,
    ) -> tree.Correlator:
        return tree.Correlator(
            name, streams, expression, per or (), definitions or (), forecast, table, place=name.place
        )

    def token_forecast(
        self, tokens: tuple[Name, ...] | None, horizon: int | tree.Node, above: tree.Literal
    ) -> tree.Forecast:
        return _forecast(horizon, above, tokens or ())

    def tokens(self, *tokens: Token) -> tuple[Name, ...]:
        return tuple(Name(text_of(token), token_place(token)) for token in tokens)

    def names(self, *names: Name) -> tuple[Name, ...]:
        return names


def _forecast(horizon: int | tree.Node, above: tree.Literal, tokens: tuple[Name, ...] = ()) -> tree.Forecast:
    events = horizon if isinstance(horizon, int) else None
    duration = horizon if isinstance(horizon, tree.Span | tree.Literal) else None
    return tree.Forecast(probability_of(above), events, duration, tokens, place=above.place)
