"""Text to tree.

The grammar is in grammar.lark. What it leaves open is settled here: words with a meaning of their own (`prev`, `t(x)`,
`duration`, aggregates), where a negation stands, and the numbers that must be whole.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput

from foretell.errors import NOWHERE, ForetellError, LanguageError, Place, suggestion
from foretell.events.types import ATTRIBUTE_TYPES, Type, parse_timestamp
from foretell.language import tree
from foretell.language.expected import unexpected
from foretell.language.tree import Name, Operator, Pattern

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


def parse(text: str, file: str = "") -> tree.Program:
    """The tree of a program.

    >>> parse("SUBSCRIBE s FROM logins MATCH a , b").statements[0].name
    's'
    """
    try:
        program = _parser().parse(text)
        assert isinstance(program, tree.Program)
        return program
    except UnexpectedInput as error:
        raise unexpected(error, text).within(text, file) from None
    except ForetellError as error:
        raise error.within(text, file) from None


@cache
def _parser() -> Lark:
    grammar = files("foretell.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start="program", transformer=_Builder(), maybe_placeholders=True)


def _refuse(code: str, message: str, place: Place, hint: str = "") -> NoReturn:
    raise LanguageError(code, message, place=place, hint=hint)


def _place(token: Token) -> Place:
    line, column = token.line or 1, token.column or 1
    width = len(token) if token.end_line == token.line else 1
    return Place(line, column, column + width)


def _span(*nodes: tree.Node) -> Place:
    return nodes[0].place.through(nodes[-1].place)


def _whole(number: tree.Literal, what: str, least: int) -> int:
    if not isinstance(number.value, int) or isinstance(number.value, bool) or number.value < least:
        _refuse("not-whole", f"{what} must be a whole number of at least {least}", number.place)
    return number.value


def _probability(number: tree.Literal) -> float:
    if not isinstance(number.value, int | float) or not 0 <= number.value <= 1:
        _refuse("not-probability", "a probability lies between 0 and 1", number.place)
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
        for option, value, place in (r for r in rest if isinstance(r, tuple)):
            if option in options:
                _refuse("twice", f"{_OPTION_WORDS[option]} is said twice", place)
            options[option] = value
        return tree.Stream(name, declared, time, **options, place=name.place)

    def declared(self, name: Name, kind: Name) -> tree.Declared:
        known = {t.value: t for t in ATTRIBUTE_TYPES}
        if kind.upper() not in known:
            _refuse("unknown-type", f"unknown type '{kind}'", kind.place, f"types are {', '.join(known)}")
        return tree.Declared(name, known[kind.upper()], place=name.place)

    def id_option(self, name: Name) -> tuple[str, Any, Place]:
        return "id", name, name.place

    def order_option(self, name: Name) -> tuple[str, Any, Place]:
        return "order", name, name.place

    def ties_option(self) -> tuple[str, Any, Place]:
        return "simultaneous", True, NOWHERE

    def late_option(self, length: tree.Span | tree.Literal) -> tuple[str, Any, Place]:
        return "lateness", length, length.place

    def loss_option(self, *losses: tree.Loss) -> tuple[str, Any, Place]:
        return "losses", losses, losses[0].place

    def loss(self, probability: tree.Literal, condition: tree.Expression | None) -> tree.Loss:
        return tree.Loss(_probability(probability), condition, place=probability.place)

    def subscription(
        self,
        name: Name,
        table: Name | None,
        streams: tuple[Name, ...],
        per: tuple[Name, ...] | None,
        pattern: Pattern,
        *clauses: tuple[str, Any, Place],
    ) -> tree.Subscription:
        said: dict[str, Any] = {}
        for clause, value, place in clauses:
            if clause in said:
                _refuse("twice", f"{_CLAUSE_WORDS[clause]} is said twice", place)
            said[clause] = value
        return tree.Subscription(name, streams, pattern, table, per or (), **said, place=name.place)

    def define_clause(self, definitions: tuple[tree.Definition, ...]) -> tuple[str, Any, Place]:
        return "definitions", definitions, definitions[0].place

    def within_clause(self, length: tree.Span | tree.Literal) -> tuple[str, Any, Place]:
        return "within", length, length.place

    def having_clause(self, condition: tree.Expression) -> tuple[str, Any, Place]:
        return "having", condition, condition.place

    def after_clause(self, after: tree.AfterMatch) -> tuple[str, Any, Place]:
        return "after", after, after.place

    def return_clause(self, *returned: tree.Returned) -> tuple[str, Any, Place]:
        return "returns", returned, returned[0].place

    def forecast_clause(self, horizon: int | tree.Node, above: tree.Literal) -> tuple[str, Any, Place]:
        events = horizon if isinstance(horizon, int) else None
        duration = horizon if isinstance(horizon, tree.Span | tree.Literal) else None
        return "forecast", tree.Forecast(_probability(above), events, duration, place=above.place), above.place

    def losing_clause(self, *parts: Any) -> tuple[str, Any, Place]:
        *items, above, published = parts
        merged: list[tree.LosingItem] = []
        for item in items:
            if isinstance(item, Name):
                if not merged or not merged[-1].steps:
                    _refuse("unexpected", "expected a probability before the step", item.place, "LOSING 0.05 OF x, y")
                last = merged.pop()
                merged.append(tree.LosingItem(last.probability, (*last.steps, item), place=last.place))
            elif item is not None:
                merged.append(item)
        losing = tree.Losing(tuple(merged), _probability(above), published is not None, place=above.place)
        return "losing", losing, above.place

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
        while isinstance(inner, tree.Conditioned | tree.Repeat | tree.Numbered | _Group):
            inner = inner.pattern if isinstance(inner, tree.Conditioned | _Group) else _inner(inner)
        if not isinstance(inner, tree.Step):
            _refuse(
                "condition-on-group",
                "@(...) is a further condition on one step, not on a group",
                condition.place,
                "put it behind one of the group's steps",
            )
        return tree.Conditioned(_ungroup(pattern), condition, place=pattern.place)

    def repeat(self, body: Pattern, quantifier: tuple[int, int | None], under: Operator | None) -> tree.Repeat:
        low, high = quantifier
        if high is not None and high < low:
            _refuse("empty-range", f"a repetition from {low} to {high} times cannot be", body.place)
        return tree.Repeat(_ungroup(body), low, high, under, place=body.place)

    def numbered(self, pattern: Pattern, number: tree.Literal) -> tree.Numbered:
        step = _ungroup(pattern)
        if not isinstance(step, tree.Step):
            _refuse("numbered-group", "[i] selects among the events of one step, not of a group", pattern.place)
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
        return _whole(low, "a repetition", 0), _whole(high, "a repetition", 1)

    def group(self, pattern: Pattern) -> Pattern:
        return _Group(pattern, place=pattern.place)

    def step(self, name: Name) -> tree.Step:
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

    def is_null(self, value: tree.Expression, negated: Token | None, _: Token) -> tree.IsNull:
        return tree.IsNull(value, negated is not None, place=value.place)

    def arithmetic(self, left: tree.Expression, operator: Token, right: tree.Expression) -> tree.Binary:
        return tree.Binary(str(operator), left, right, place=_span(left, right))

    def negative(self, operand: tree.Expression) -> tree.Expression:
        if isinstance(operand, tree.Literal) and isinstance(operand.value, int | float):
            return tree.Literal(-operand.value, place=operand.place)
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
            _refuse("not-timestamp", f"{token} is not a date and time", _place(token), "'2026-01-31 12:00:00'")

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
        return tree.Span(_number(number), word, place=_place(number).through(_place(unit)))

    def number(self, token: Token) -> tree.Literal:
        value = _number(token)
        if isinstance(value, int) and value >= 2**63:
            _refuse("too-large", f"{token} does not fit in 64 bits", _place(token))
        return tree.Literal(value, place=_place(token))

    def name(self, token: Token) -> Name:
        if token.type == "QUOTED":
            return _Quoted(str(token[1:-1]).replace('""', '"'), _place(token))
        return Name(str(token), _place(token))


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
    return int(token) if token.isdigit() else float(token)


def _unquote(token: Token) -> str:
    return str(token[1:-1]).replace("''", "'")


def _choose(which: str, pattern: Pattern) -> Pattern:
    """`FIRST a @(c)`: the choice goes inside the condition, the two mean the same either way."""
    if isinstance(pattern, tree.Conditioned):
        return tree.Conditioned(_choose(which, pattern.pattern), pattern.condition, place=pattern.place)
    step = _ungroup(pattern)
    if not isinstance(step, tree.Step):
        _refuse("chosen-group", f"{which} chooses among the events of one step, not of a group", pattern.place)
    return tree.Chosen(which, step, place=step.place)


def _sequence(pieces: tuple[Any, ...]) -> Pattern:
    """Elements and operators in turn, negations sorted to the part they stand before (or to the end)."""
    elements = [_ungroup(e) if isinstance(e, Pattern) else e for e in pieces[::2]]
    operators: list[Operator | None] = [None, *pieces[1::2]]
    if all(isinstance(e, tree.Negation) for e in elements):
        _check_around(elements, operators)
        return tree.Silence(tuple(elements), place=elements[0].place)
    if len(elements) == 1:
        return elements[0]
    _check_around(elements, operators)
    parts: list[tree.Part] = []
    waiting: list[tree.Negation] = []
    for element, operator in zip(elements, operators, strict=True):
        if isinstance(element, tree.Negation):
            waiting.append(element)
        else:
            parts.append(tree.Part(element, operator if parts else None, tuple(waiting), place=element.place))
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
            _refuse(
                "negation-next",
                f"'!{element.step.name}' cannot stand next to ','",
                element.place,
                "between two events that follow each other directly there is nothing; use ';'",
            )
        leading = not any(isinstance(e, Pattern) for e in elements[:i])
        if isinstance(before, tree.FirstWhere) or (isinstance(after, tree.FirstWhere) and leading):
            _refuse(
                "negation-where",
                f"';{{...}}' cannot stand here next to '!{element.step.name}'",
                (before if isinstance(before, tree.FirstWhere) else after or element).place,
                "write P ; !b ;{condition} Q",
            )


def _event_named(name: Name) -> tree.EventReference:
    if name.lower() == "prev" and not isinstance(name, _Quoted):
        return tree.Previous(place=name.place)
    return tree.Bound(name, place=name.place)


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
        case tree.Attribute(event=tree.This(), name=Name() as name):
            return name
        case tree.StreamOf(event=tree.This()) | tree.Elapsed():
            return Name("stream" if isinstance(argument, tree.StreamOf) else "duration", argument.place)
    _refuse("not-a-step", f"{function}(...) takes a step", argument.place)


def _call(function: Name, arguments: list[tree.Expression], field: Name | None) -> tree.Expression:
    word = function.lower()
    place = function.place.through(arguments[-1].place) if arguments else function.place
    if word in ("first", "last"):
        _arity(function, arguments, 1)
        step = _step_name(arguments[0], word)
        event = tree.First(step, place=place) if word == "first" else tree.Last(step, place=place)
        return tree.EventValue(event, place=place) if field is None else _attribute(event, field, place)
    if field is not None:
        _refuse("not-an-event", f"{word}(...) is not an event and has no attributes", field.place)
    if word == "t":
        _arity(function, arguments, 1)
        return tree.TimeOf(_event(arguments[0], "t"), place=place)
    if word in AGGREGATES:
        _arity(function, arguments, 1)
        return _aggregate(word, arguments[0], place)
    if word not in FUNCTIONS:
        hint = suggestion(function, [*FUNCTIONS, *AGGREGATES, "t", "first", "last"])
        _refuse("unknown-function", f"unknown function '{function}'", function.place, hint)
    _arity(function, arguments, FUNCTIONS[word])
    return tree.Call(word, tuple(arguments), place=place)


def _aggregate(word: str, argument: tree.Expression, place: Place) -> tree.Aggregate:
    match argument:
        case tree.Attribute(event=tree.Bound(step=step), name=name):
            return tree.Aggregate(word, step, name, place=place)
        case _ if word == "count":
            return tree.Aggregate(word, _step_name(argument, word), place=place)
    _refuse("not-step-attribute", f"{word}(...) takes an attribute of a step", argument.place, f"{word}(b.price)")


def _arity(function: Name, arguments: list[tree.Expression], wanted: int | None) -> None:
    if wanted is None and not arguments or wanted is not None and len(arguments) != wanted:
        count = "at least 1 argument" if wanted is None else f"{wanted} argument{'s' if wanted > 1 else ''}"
        _refuse("wrong-arguments", f"{function}(...) takes {count}, found {len(arguments)}", function.place)
