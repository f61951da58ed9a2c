"""Rules of correlation expressions."""

from __future__ import annotations

from lark import Token, Transformer, v_args

from foretell.language import tree
from foretell.language.rules.tokens import span_of, text_of, token_place, whole_number
from foretell.language.tree import Name


@v_args(inline=True)
class CorrelationRules(Transformer[Token, tree.Program]):
    def on(self, name: Name) -> tree.On:
        return tree.On(name, place=name.place)

    def accumulate(self, parts: tuple[tree.Correlation, ...]) -> tree.Accumulate:
        return tree.Accumulate(parts, place=span_of(*parts))

    def select(self, parts: tuple[tree.Correlation, ...]) -> tree.Select:
        return tree.Select(parts, place=span_of(*parts))

    def select_strict(self, parts: tuple[tree.Correlation, ...]) -> tree.Select:
        return tree.Select(parts, strict=True, place=span_of(*parts))

    def sequential(self, parts: tuple[tree.Correlation, ...]) -> tree.Sequential:
        return tree.Sequential(parts, place=span_of(*parts))

    def unless(self, body: tree.Correlation, stopper: tree.Correlation) -> tree.Unless:
        return tree.Unless(body, stopper, place=span_of(body, stopper))

    def fail(self, body: tree.Correlation) -> tree.Fail:
        return tree.Fail(body, place=body.place)

    def push(self, token: Token, body: tree.Correlation) -> tree.Push:
        return tree.Push(text_of(token), body, place=token_place(token))

    def again(self, kind: Token, number: tree.Literal | None, body: tree.Correlation) -> tree.Again:
        count = None if number is None else whole_number(number, f"the count of {kind.lower()}(n)", 1)
        return tree.Again(kind.lower(), body, count, place=token_place(kind))

    def parallel(self, parts: tuple[tree.Correlation, ...]) -> tree.Parallel:
        return tree.Parallel(parts, place=span_of(*parts))

    def modes(self, *modes: tree.Mode) -> tree.Modes:
        return tree.Modes(modes, place=span_of(*modes))

    def mode(self, guard: Name, body: tree.Correlation) -> tree.Mode:
        return tree.Mode(guard, body, place=guard.place)

    def correlations(self, *parts: tree.Correlation) -> tuple[tree.Correlation, ...]:
        return parts
