"""Text to tree.

The grammar is in grammar.lark. What it leaves open is settled here: words with a meaning of their own (`prev`, `t(x)`,
`duration`, aggregates), where a negation stands, and the numbers that must be whole.
"""

from __future__ import annotations

import json
import math
import re
import sys
from functools import cache
from importlib.resources import files
from typing import Any, cast

import lark
from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput
from lark.grammar import Rule
from lark.lexer import TerminalDef

from foretell.errors import (
    NOWHERE,
    ForetellError,
    LanguageError,
    Place,
    closest,
    offset_of,
    place_at,
    refuse,
    suggestion,
)
from foretell.events.types import ATTRIBUTE_TYPES, parse_timestamp
from foretell.language import tree
from foretell.language.syntax_hints import unexpected
from foretell.language.tree import Name, Operator, Pattern
from foretell.storage.disk_cache import digest, keep, kept

AGGREGATES = ("count", "sum", "avg", "min", "max")
FUNCTIONS = {"contains": 2, "abs": 1, "lower": 1, "upper": 1, "length": 1, "coalesce": None}

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


#: What other languages call our types.
_OTHER_TYPES = {
    **dict.fromkeys(("VARCHAR", "CHAR", "TEXT"), "STRING"),
    **dict.fromkeys(("BIGINT", "SMALLINT", "LONG"), "INT"),
    **dict.fromkeys(("DOUBLE", "REAL", "DECIMAL", "NUMERIC", "NUMBER"), "FLOAT"),
    **dict.fromkeys(("DATETIME", "DATE", "TIME"), "TIMESTAMP"),
}
#: Functions of other languages, and how to say it here.
_OTHER_FUNCTIONS = {
    "prev": "the event bound just before is prev.attribute",
    "lag": "the event bound just before is prev.attribute",
    "next": "a condition may name a later step: step.attribute",
    "now": "there is no now; t(step) is the time of an event",
    "current_timestamp": "there is no now; t(step) is the time of an event",
    "classifier": "leave it out: a notification says which event is bound to which step",
    "match_number": "leave it out: every match is one notification",
    "ceil": "there is no rounding",
    "round": "there is no rounding",
    "mean": "did you mean 'avg'?",
    "average": "did you mean 'avg'?",
    "nvl": "did you mean 'coalesce'?",
    "ifnull": "did you mean 'coalesce'?",
    "len": "did you mean 'length'?",
    "time": "the time of the event bound to a step is t(step)",
    "timestamp": "the time of the event bound to a step is t(step)",
}

#: How deep a text may be nested: every part of Foretell walks the tree, and Python's stack is not endless.
DEEPEST = 150
_SKIPPED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*""")


def parse(text: str, file: str = "") -> tree.Program:
    """The tree of a program.

    >>> parse("SUBSCRIBE s FROM logins MATCH a , b").statements[0].name
    's'
    """
    code = _without_comments(text.removeprefix("\ufeff"))
    try:
        program = cast(tree.Program, _parser().parse(code))
        _check_depth(program)
        return program
    except UnexpectedInput as error:
        raise unexpected(error, code, _parser()).within(text, file) from None
    except _TwiceError as error:
        raise error.found_in(code).within(text, file) from None
    except ForetellError as error:
        raise error.within(text, file) from None


def _without_comments(text: str) -> str:
    """The text with blanks for its comments, so that places stay what they are.

    The grammar knows comments too, but where it looks ahead over them to tell the two meanings of `;` apart, a long
    row of dashes would take it for ever.
    """
    return _SKIPPED.sub(lambda found: found[1] or " " * len(found[0]), text)


def _check_depth(program: tree.Program) -> None:
    waiting: list[tuple[tree.Node, int]] = [(program, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST and node.place != NOWHERE:
            hint = "use IN (...) for a long list of values, or bracket a long chain: (a OR b) OR (c OR d)"
            refuse("too-deep", f"this is nested more than {DEEPEST} levels deep", node.place, hint)
        waiting += ((child, depth + 1) for child in node.children())


@cache
def _parser() -> Lark:
    """The grammar's tables, which take a while to make, are kept as they are in Lark's standalone parsers."""
    grammar = files("foretell.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    stamp = digest([lark.__version__, sys.version, grammar])
    tables = kept("grammar", f"{stamp}.json")
    if tables is not None:
        lark_class: Any = Lark  # whose types do not know this
        return cast(
            Lark, lark_class._load_from_dict(**json.loads(tables, object_hook=_numbered), transformer=_Builder())
        )
    made = Lark(grammar, parser="lalr", start="program", transformer=_Builder(), maybe_placeholders=True)
    data, memo = made.memo_serialize([TerminalDef, Rule])
    del data["options"]["transformer"]
    keep("grammar", f"{stamp}.json", json.dumps({"data": data, "memo": memo}).encode(), instead=stamp)
    return made


def _numbered(table: dict[str, Any]) -> dict[Any, Any]:
    """States, tokens and rules have numbers, which JSON makes texts of."""
    return {int(key) if key.isdecimal() else key: value for key, value in table.items()}


class _TwiceError(LanguageError):
    """A clause that a statement has twice. Its keyword is no part of the tree, so the text is asked where it stands."""

    def __init__(self, words: str, name: Name) -> None:
        super().__init__("twice", f"{words} is said twice", place=name.place, hint="leave one of them out")
        self._words = words

    def found_in(self, text: str) -> LanguageError:
        masked = _SKIPPED.sub(lambda found: " " * len(found[0]), text)
        words = re.compile(r"\b(FORECAST\s+)?" + self._words.replace(" ", r"\s+") + r"\b", re.IGNORECASE)
        found = words.finditer(masked, offset_of(masked, self.place))
        # FORECAST has a WITHIN of its own.
        said = [m for m in found if m[1] is None]
        place = place_at(text, said[1].start(), said[1].end()) if len(said) > 1 else self.place
        return LanguageError(self.code, self.message, place=place, hint=self.hint)


def _place(token: Token) -> Place:
    line, column = token.line or 1, token.column or 1
    if token.end_line is not None and token.end_line > line:
        return Place(line, column, token.end_column or 1, token.end_line)
    return Place(line, column, column + len(token))


def _span(*nodes: tree.Node) -> Place:
    return nodes[0].place.through(nodes[-1].place)


def _whole(number: tree.Literal, what: str, least: int) -> int:
    if not isinstance(number.value, int) or isinstance(number.value, bool) or number.value < least:
        refuse("not-whole", f"{what} must be a whole number of at least {least}", number.place)
    return number.value


def _share(value: object) -> str:
    """A hint for who thinks in percent."""
    return f"write {value / 100:g} for {value}%" if isinstance(value, int | float) and 1 < value <= 100 else ""


def _probability(number: tree.Literal) -> float:
    if not isinstance(number.value, int | float) or not 0 <= number.value <= 1:
        refuse("not-probability", "a probability lies between 0 and 1", number.place, _share(number.value))
    return float(number.value)


@v_args(inline=True)
class _Builder(Transformer[Token, tree.Program]):
    """One method for each rule of the grammar, in its order."""

    def program(self, *statements: tree.Statement | Token | None) -> tree.Program:
        return tree.Program(tuple(s for s in statements if isinstance(s, tree.Statement)))

    # ── statements ──

    def stream(self, name: Name, *rest: Any) -> tree.Stream:
        declared = tuple(r for r in rest if isinstance(r, tree.Declared))
        time = next(r for r in rest if isinstance(r, Name))
        options: dict[str, Any] = {}
        for option, value in (r for r in rest if isinstance(r, tuple)):
            if option in options:
                raise _TwiceError(_OPTION_WORDS[option], name)
            options[option] = value
        return tree.Stream(name, declared, time, **options, place=name.place)

    def declared(self, name: Name, kind: Name) -> tree.Declared:
        known = {t.value: t for t in ATTRIBUTE_TYPES}
        if kind.upper() not in known:
            meant = _OTHER_TYPES.get(kind.upper()) or closest(kind, known)
            hint = f"did you mean {meant}?" if meant else f"types are {', '.join(known)}"
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

    def loss(self, probability: tree.Literal, condition: tree.Expression | None) -> tree.Loss:
        return tree.Loss(_probability(probability), condition, place=probability.place)

    def subscription(
        self,
        name: Name,
        table: Name | None,
        streams: tuple[Name, ...],
        per: tuple[Name, ...] | None,
        pattern: Pattern,
        *clauses: tuple[str, Any],
    ) -> tree.Subscription:
        said: dict[str, Any] = {}
        for clause, value in clauses:
            if clause in said:
                raise _TwiceError(_CLAUSE_WORDS[clause], name)
            said[clause] = value
        return tree.Subscription(name, streams, pattern, table, per or (), **said, place=name.place)

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
        events = horizon if isinstance(horizon, int) else None
        duration = horizon if isinstance(horizon, tree.Span | tree.Literal) else None
        return "forecast", tree.Forecast(_probability(above), events, duration, place=above.place)

    def losing_clause(self, *parts: Any) -> tuple[str, Any]:
        *items, above, published = parts
        merged: list[tree.LosingItem] = []
        for item in items:
            if isinstance(item, Name):
                if not merged or not merged[-1].steps:
                    refuse("unexpected", "expected a probability before the step", item.place, "LOSING 0.05 OF x, y")
                last = merged.pop()
                merged.append(tree.LosingItem(last.probability, (*last.steps, item), place=last.place))
            elif item is not None:
                merged.append(item)
        losing = tree.Losing(tuple(merged), _probability(above), published is not None, place=above.place)
        return "losing", losing

    def definitions(self, *definitions: tree.Definition) -> tuple[tree.Definition, ...]:
        return definitions

    def definition(self, *parts: Any) -> tree.Definition:
        *steps, condition = parts
        return tree.Definition(tuple(steps), condition, place=steps[0].place)

    def hold(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.HOLD)

    def consume(self) -> tree.AfterMatch:
        return tree.AfterMatch(tree.Policy.CONSUME)

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
        return _whole(number, "the horizon", 1)

    def horizon(self, length: tree.Node) -> tree.Node:
        return length

    def losing_item(self, probability: tree.Literal, step: Name | None) -> tree.LosingItem:
        return tree.LosingItem(_probability(probability), (step,) if step else (), place=probability.place)

    def losing_more(self, step: Name) -> Name:
        return step

    def score(self) -> bool:
        return True

    def correlator(
        self,
        name: Name,
        streams: tuple[Name, ...],
        per: tuple[Name, ...] | None,
        expression: tree.Correlation,
        definitions: tuple[tree.Definition, ...] | None,
    ) -> tree.Correlator:
        return tree.Correlator(name, streams, expression, per or (), definitions or (), place=name.place)

    def names(self, *names: Name) -> tuple[Name, ...]:
        return names

    # ── patterns ──

    def alternation(self, left: Pattern, right: Pattern) -> tree.Alternation:
        return tree.alternation(left, right, place=_span(left, right))

    def conjunction(self, left: Pattern, right: Pattern) -> tree.Conjunction:
        return tree.conjunction(left, right, place=_span(left, right))

    def sequence(self, *pieces: Any) -> Pattern:
        return _sequence(pieces)

    def next(self) -> Operator:
        return tree.Next()

    def later(self, token: Token) -> Operator:
        return tree.Later(place=_place(token))

    def first_where(self, token: Token, condition: tree.Expression) -> Operator:
        return tree.FirstWhere(condition, place=_place(token).through(condition.place))

    def negation(self, step: tree.Step, *conditions: tree.Expression) -> tree.Negation:
        return tree.Negation(step, conditions, place=step.place)

    def choose_first(self, pattern: Pattern) -> Pattern:
        return _choose("FIRST", pattern)

    def choose_last(self, pattern: Pattern) -> Pattern:
        return _choose("LAST", pattern)

    def conditioned(self, pattern: Pattern, condition: tree.Expression) -> tree.Conditioned:
        inner = pattern
        while isinstance(inner, tree.Repeat | tree.Numbered | _Group):
            inner = inner.pattern if isinstance(inner, _Group) else _inner(inner)
        # One that has a condition already is on a step, or would not have got it.
        if not isinstance(inner, tree.Step | tree.Conditioned):
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
        return tree.Numbered(step, _whole(number, "the number in [ ]", 1), place=step.place)

    def condition(self, expression: tree.Expression) -> tree.Expression:
        return expression

    def optional(self) -> tuple[int, int | None]:
        return 0, 1

    def any_number(self) -> tuple[int, int | None]:
        return 0, None

    def at_least_one(self) -> tuple[int, int | None]:
        return 1, None

    def exactly(self, number: tree.Literal) -> tuple[int, int | None]:
        times = _whole(number, "a repetition", 1)
        return times, times

    def at_least(self, number: tree.Literal) -> tuple[int, int | None]:
        return _whole(number, "a repetition", 0), None

    def between_times(self, low: tree.Literal, high: tree.Literal) -> tuple[int, int | None]:
        least, most = _whole(low, "a repetition", 0), _whole(high, "a repetition", 1)
        if most < least:
            message = f"a repetition from {least} to {most} times cannot be"
            refuse("empty-range", message, _span(low, high), f"write {{{most},{least}}}")
        return least, most

    def group(self, pattern: Pattern) -> Pattern:
        return _Group(pattern, place=pattern.place)

    def step(self, token: Token) -> tree.Step:
        name = _name(token)
        return tree.Step(name, place=name.place)

    # ── correlations ──

    def on(self, name: Name) -> tree.On:
        return tree.On(name, place=name.place)

    def accumulate(self, parts: tuple[tree.Correlation, ...]) -> tree.Accumulate:
        return tree.Accumulate(parts, place=_span(*parts))

    def select(self, parts: tuple[tree.Correlation, ...]) -> tree.Select:
        return tree.Select(parts, place=_span(*parts))

    def select_strict(self, parts: tuple[tree.Correlation, ...]) -> tree.Select:
        return tree.Select(parts, strict=True, place=_span(*parts))

    def sequential(self, parts: tuple[tree.Correlation, ...]) -> tree.Sequential:
        return tree.Sequential(parts, place=_span(*parts))

    def unless(self, body: tree.Correlation, stopper: tree.Correlation) -> tree.Unless:
        return tree.Unless(body, stopper, place=_span(body, stopper))

    def fail(self, body: tree.Correlation) -> tree.Fail:
        return tree.Fail(body, place=body.place)

    def push(self, token: Token, body: tree.Correlation) -> tree.Push:
        return tree.Push(_unquote(token), body, place=_place(token))

    def again(self, kind: Token, number: tree.Literal | None, body: tree.Correlation) -> tree.Again:
        count = None if number is None else _whole(number, f"the number of {kind.lower()}", 1)
        return tree.Again(kind.lower(), body, count, place=_place(kind))

    def parallel(self, parts: tuple[tree.Correlation, ...]) -> tree.Parallel:
        return tree.Parallel(parts, place=_span(*parts))

    def modes(self, *modes: tree.Mode) -> tree.Modes:
        return tree.Modes(modes, place=_span(*modes))

    def mode(self, guard: Name, body: tree.Correlation) -> tree.Mode:
        return tree.Mode(guard, body, place=guard.place)

    def correlations(self, *parts: tree.Correlation) -> tuple[tree.Correlation, ...]:
        return parts

    # ── expressions ──

    def disjunction(self, left: tree.Expression, right: tree.Expression) -> tree.Binary:
        return tree.Binary("OR", left, right, place=_span(left, right))

    def conjunction_of(self, left: tree.Expression, right: tree.Expression) -> tree.Binary:
        return tree.Binary("AND", left, right, place=_span(left, right))

    def inversion(self, operand: tree.Expression) -> tree.Unary:
        return tree.Unary("NOT", operand, place=operand.place)

    def comparison(self, left: tree.Expression, operator: Token, right: tree.Expression) -> tree.Binary:
        return tree.Binary("<>" if operator == "!=" else str(operator), left, right, place=_span(left, right))

    def within_list(self, value: tree.Expression, negated: Token | None, *options: tree.Expression) -> tree.In:
        return tree.In(value, options, negated is not None, place=_span(value, options[-1]))

    def between(
        self, value: tree.Expression, negated: Token | None, low: tree.Expression, high: tree.Expression
    ) -> tree.Between:
        return tree.Between(value, low, high, negated is not None, place=_span(value, high))

    def like(self, value: tree.Expression, negated: Token | None, pattern: tree.Expression) -> tree.Like:
        return tree.Like(value, pattern, negated is not None, place=_span(value, pattern))

    def is_null(self, value: tree.Expression, negated: Token | None, null: Token) -> tree.IsNull:
        return tree.IsNull(value, negated is not None, place=value.place.through(_place(null)))

    def arithmetic(self, left: tree.Expression, operator: Token, right: tree.Expression) -> tree.Binary:
        return tree.Binary(str(operator), left, right, place=_span(left, right))

    def negative(self, operand: tree.Expression) -> tree.Expression:
        value = operand.value if isinstance(operand, tree.Literal) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return tree.Literal(-value, place=operand.place)
        if isinstance(operand, tree.Span):
            return tree.Span(-operand.amount, operand.unit, place=operand.place)
        return tree.Unary("-", operand, place=operand.place)

    def text(self, token: Token) -> tree.Literal:
        return tree.Literal(_unquote(token), place=_place(token))

    def true(self, token: Token) -> tree.Literal:
        return tree.Literal(True, place=_place(token))

    def false(self, token: Token) -> tree.Literal:
        return tree.Literal(False, place=_place(token))

    def null(self, token: Token) -> tree.Literal:
        return tree.Literal(None, place=_place(token))

    def moment(self, token: Token) -> tree.Moment:
        try:
            return tree.Moment(parse_timestamp(_unquote(token)), place=_place(token))
        except ValueError:
            hint = "write it as in TIMESTAMP '2026-01-31 12:00:00'"
            refuse("not-timestamp", f"{token} is not a date and time", _place(token), hint)

    def variable(self, token: Token) -> tree.Variable:
        return tree.Variable(str(token[1:]), place=_place(token))

    def parameter(self, token: Token) -> tree.Parameter:
        return tree.Parameter(str(token[1:]), place=_place(token))

    def bare(self, name: Name) -> tree.Expression:
        if not isinstance(name, _Quoted):
            if name.lower() == "duration":
                return tree.Elapsed(place=name.place)
            if name.lower() == "stream":
                return tree.StreamOf(tree.This(), place=name.place)
        return tree.Attribute(tree.This(), name, place=name.place)

    def field(self, owner: Name, name: Name) -> tree.Expression:
        return _attribute(_event_named(owner), name, owner.place.through(name.place))

    def call(self, function: Name, *parts: Any) -> tree.Expression:
        *arguments, field = parts
        return _call(function, [a for a in arguments if a is not None], field)

    def parenthesised(self, expression: tree.Expression) -> tree.Expression:
        return expression

    def length_with_unit(self, number: Token, unit: Token) -> tree.Span:
        word = unit.lower()
        word = _UNITS.get(word.rstrip("s") if word not in ("s", "ms", "us") else word, word.rstrip("s") or word)
        word = word if word in tree.UNITS else unit.lower()
        span = tree.Span(_number(number), word, place=_place(number).through(_place(unit)))
        if abs(span.amount * tree.UNITS[word]) >= 2**63:
            refuse("too-large", f"{number} {unit} does not fit in 64 bits of microseconds", span.place)
        return span

    def number(self, token: Token) -> tree.Literal:
        return tree.Literal(_number(token), place=_place(token))

    def name(self, token: Token) -> Name:
        return _name(token)


_OPTION_WORDS = {
    "id": "ID",
    "order": "ORDER BY",
    "simultaneous": "TIES SIMULTANEOUS",
    "lateness": "LATE BY",
    "losses": "LOSS",
}
_CLAUSE_WORDS = {
    "definitions": "DEFINE",
    "within": "WITHIN",
    "having": "HAVING",
    "after": "AFTER MATCH",
    "returns": "RETURN",
    "forecast": "FORECAST",
    "losing": "LOSING",
}


class _Quoted(Name):
    """A name in double quotes: never one of the words with a meaning of their own."""


class _Group(Pattern):
    """A pattern in parentheses, until it is known what they hold together."""

    def __init__(self, pattern: Pattern, place: Place) -> None:
        super().__init__(place=place)
        object.__setattr__(self, "pattern", pattern)

    pattern: Pattern


def _ungroup(pattern: Pattern) -> Pattern:
    return pattern.pattern if isinstance(pattern, _Group) else pattern


def _inner(pattern: tree.Repeat | tree.Numbered) -> Pattern:
    return pattern.body if isinstance(pattern, tree.Repeat) else pattern.step


def _number(token: Token) -> int | float:
    # A number of thousands of digits is refused before Python is asked to read it.
    value: int | float = math.inf
    if len(token) <= 400:
        value = int(token) if token.isdigit() else float(token)
    # 2**63 itself is let pass: with a sign before it, it is the least INT. Without one the types refuse it.
    if (value > 2**63 and isinstance(value, int)) or value == math.inf:
        shown = token if len(token) <= 40 else f"{token[:40]}…"
        refuse("too-large", f"{shown} does not fit in 64 bits", _place(token))
    return value


def _name(token: Token) -> Name:
    if token.type == "QUOTED":
        return _Quoted(str(token[1:-1]).replace('""', '"'), _place(token))
    return Name(str(token), _place(token))


def _unquote(token: Token) -> str:
    return str(token[1:-1]).replace("''", "'")


def _choose(which: str, pattern: Pattern) -> Pattern:
    """`FIRST a @(c)`: the choice goes inside the condition, the two mean the same either way."""
    if isinstance(pattern, tree.Conditioned):
        return tree.Conditioned(_choose(which, pattern.pattern), pattern.condition, place=pattern.place)
    step = _ungroup(pattern)
    if not isinstance(step, tree.Step):
        message = f"{which} chooses among the events of one step, not of a group or a repetition"
        refuse("chosen-group", message, pattern.place, f"put {which} before one single step")
    return tree.Chosen(which, step, place=step.place)


def _sequence(pieces: tuple[Any, ...]) -> Pattern:
    """Elements and operators in turn, negations sorted to the part they stand before (or to the end)."""
    elements: list[Any] = [_ungroup(e) if isinstance(e, Pattern) else e for e in pieces[::2]]
    operators: list[Operator | None] = [None, *pieces[1::2]]
    if all(isinstance(e, tree.Negation) for e in elements):
        _check_around(elements, operators)
        return tree.Silence(tuple(elements), place=elements[0].place)
    if len(elements) == 1:
        return cast(Pattern, elements[0])
    _check_around(elements, operators)
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


def _check_around(elements: list[Any], operators: list[Operator | None]) -> None:
    """Next to a negation only `;`, or `;{θ}` before what follows the last of them."""
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
                "between two events that follow each other directly there is nothing; use ';'",
            )
        leading = not any(isinstance(e, Pattern) for e in elements[:i])
        if isinstance(before, tree.FirstWhere) or (isinstance(after, tree.FirstWhere) and leading):
            name = element.step.name
            refuse(
                "negation-where",
                f"';{{...}}' cannot stand here next to '!{name}'",
                (before if isinstance(before, tree.FirstWhere) else after or element).place,
                f"write !{name} ; Q" if leading else f"write P ; !{name} ;{{condition}} Q",
            )


def _event_named(name: Name) -> tree.EventReference:
    if name.lower() == "prev" and not isinstance(name, _Quoted):
        return tree.Previous(place=name.place)
    return tree.BoundEvent(name, place=name.place)


def _attribute(event: tree.EventReference, name: Name, place: Place) -> tree.Expression:
    if name.lower() == "stream" and not isinstance(name, _Quoted):
        return tree.StreamOf(event, place=place)
    return tree.Attribute(event, name, place=place)


def _event(argument: tree.Expression, function: str) -> tree.EventReference:
    """What `t(...)` was given: a step, prev, first(b) or last(b)."""
    if isinstance(argument, tree.EventValue):
        return argument.event
    return _event_named(_step_name(argument, function))


def _step_name(argument: tree.Expression, function: str) -> Name:
    match argument:
        case tree.Attribute(event=tree.This(), name=Name() as name) if function == "t" or name.lower() != "prev":
            return name
        case tree.StreamOf(event=tree.This()) | tree.Elapsed():
            return Name("stream" if isinstance(argument, tree.StreamOf) else "duration", argument.place)
    hint = f"write {function}(step)"
    if isinstance(argument, tree.Attribute) and argument.name.lower() == "prev":
        hint = "'prev' is one event already: prev.attribute"
    if isinstance(argument, tree.Attribute) and isinstance(argument.event, tree.BoundEvent):
        step = argument.event.step
        hint = f"write {function}({step})" + (f".{argument.name}" if function in ("first", "last") else "")
    refuse("not-a-step", f"{function}(...) takes a step", argument.place, hint)


def _call(function: Name, arguments: list[tree.Expression], field: Name | None) -> tree.Expression:
    word = function.lower()
    place = function.place.through(arguments[-1].place) if arguments else function.place
    if word in ("first", "last"):
        _arity(function, arguments, 1)
        step = _step_name(arguments[0], word)
        event = tree.FirstOf(step, place=place) if word == "first" else tree.LastOf(step, place=place)
        if field is None:
            return tree.EventValue(event, place=place)
        return _attribute(event, field, place.through(field.place))
    if field is not None:
        hint = "only first(step) and last(step) are events"
        refuse("not-an-event", f"{word}(...) is not an event and has no attributes", place.through(field.place), hint)
    if word == "t":
        _arity(function, arguments, 1)
        return tree.TimeOf(_event(arguments[0], "t"), place=place)
    if word in AGGREGATES:
        _arity(function, arguments, 1)
        return _aggregate(word, arguments[0], place)
    if word not in FUNCTIONS:
        hint = _OTHER_FUNCTIONS.get(word) or suggestion(function, [*FUNCTIONS, *AGGREGATES, "t", "first", "last"])
        refuse("unknown-function", f"unknown function '{function}'", function.place, hint)
    _arity(function, arguments, FUNCTIONS[word])
    return tree.Call(word, tuple(arguments), place=place)


def _aggregate(word: str, argument: tree.Expression, place: Place) -> tree.Aggregate:
    match argument:
        case tree.Attribute(event=tree.BoundEvent(step=step), name=name):
            return tree.Aggregate(word, step, name, place=place)
        case _ if word == "count":
            return tree.Aggregate(word, _step_name(argument, word), place=place)
    message = f"{word}(...) takes an attribute of a step"
    refuse("not-step-attribute", message, argument.place, f"write {word}(step.attribute)")


def _arity(function: Name, arguments: list[tree.Expression], wanted: int | None) -> None:
    if not arguments if wanted is None else len(arguments) != wanted:
        place = function.place.through(arguments[-1].place) if arguments else function.place
        count = "at least 1 argument" if wanted is None else f"{wanted} argument{'s' if wanted > 1 else ''}"
        refuse("wrong-arguments", f"{function}(...) takes {count}, found {len(arguments)}", place)
