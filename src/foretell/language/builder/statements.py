"""Statements: each method adds one clause and returns a new statement, so that statements can share a beginning."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from foretell.events.types import ATTRIBUTE_TYPES, Type
from foretell.language import tree
from foretell.language.builder.correlations import Part, correlation_tree
from foretell.language.builder.durations import DurationLike, duration_tree
from foretell.language.builder.errors import builder_error
from foretell.language.builder.expressions import (
    ExpressionBuilder,
    Operand,
    condition_tree,
    value_tree,
)
from foretell.language.builder.literals import name as checked_name
from foretell.language.builder.literals import probability, whole
from foretell.language.builder.patterns import PatternBuilder, pattern_tree
from foretell.language.builder.steps import StepBuilder, step_name
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions, of_program

#: A loss probability: of all steps, or of the steps that follow it, `(0.05, x, y)`.
LossOf: TypeAlias = float | tuple[float, *tuple[StepBuilder, ...]]

_TYPES = {bool: Type.BOOL, int: Type.INT, float: Type.FLOAT, str: Type.STRING, datetime: Type.TIMESTAMP}
_Tree = TypeVar("_Tree", bound=tree.Statement)


class StatementBuilder(Generic[_Tree]):
    """The common part of SUBSCRIBE, STREAM and CORRELATE statements: their clauses by field of the tree."""

    _kind: type[_Tree]
    _missing: ClassVar[dict[str, str]]  # required clauses, and how to add them

    def __init__(self, **clauses: Any) -> None:
        self._clauses = clauses

    def __repr__(self) -> str:
        missing = self._first_missing()
        return f"<{self._clauses['name']}, {missing} is missing>" if missing else statement_text(self.tree)

    @property
    def tree(self) -> _Tree:
        """The statement's tree, as the parser would give it."""
        missing = self._first_missing()
        if missing:
            raise builder_error(
                "missing-clause", f"'{self._clauses['name']}' has no {missing}", f"add {self._missing[missing]}"
            )
        return self._kind(**self._clauses)

    def _first_missing(self) -> str | None:
        return next((keyword for keyword in self._missing if _FIELDS[keyword] not in self._clauses), None)

    def _with_clause(self, keyword: str, value: object) -> Self:
        field = _FIELDS[keyword]
        if field in self._clauses:
            raise builder_error("twice", f"{keyword} is given twice", "delete one of them")
        return type(self)(**self._clauses, **{field: value})

    def _with_item(self, keyword: str, value: object) -> Self:
        """As `_with_clause`, for a clause that may be given several times."""
        field = _FIELDS[keyword]
        return type(self)(**{**self._clauses, field: (*self._clauses.get(field, ()), value)})


_FIELDS = {
    "FOR EACH": "table",
    "FROM": "streams",
    "PER": "per",
    "MATCH": "pattern",
    "DO": "expression",
    "DEFINE": "definitions",
    "WITHIN": "within",
    "HAVING": "having",
    "AFTER MATCH": "after",
    "RETURN": "returns",
    "FORECAST": "forecast",
    "LOSING": "losing",
    "TIME": "time",
    "ID": "id",
    "ORDER BY": "order",
    "TIES": "simultaneous",
    "LATE BY": "lateness",
    "LOSS": "losses",
    "NULL": "nulls",
    "LET": "derived",
}


class _ReadingBuilder(StatementBuilder[_Tree]):
    """A statement that reads streams."""

    def from_(self, *streams: str | StatementBuilder[Any]) -> Self:
        """FROM: streams by name, or the statements that declare or produce them."""
        names = (s._clauses["name"] if isinstance(s, StatementBuilder) else s for s in streams)
        return self._with_clause("FROM", _names(tuple(names), "from_()", "a stream"))

    def for_each(self, table: str) -> Self:
        """FOR EACH: a statement for each row of the table; `parameter("column")` is its value."""
        return self._with_clause("FOR EACH", checked_name(table, "a table"))

    def per(self, *attributes: str) -> Self:
        """PER: a lane for each value of these attributes."""
        return self._with_clause("PER", _names(attributes, "per()", "an attribute"))

    def define(self, *steps_and_condition: *tuple[*tuple[StepBuilder, ...], ExpressionBuilder]) -> Self:
        """DEFINE: the steps, then the condition that each of them has to meet; call it again for other steps."""
        return self._with_item("DEFINE", _definition(steps_and_condition))


def _definition(steps_and_condition: tuple[object, ...]) -> tree.Definition:
    if len(steps_and_condition) < 2:
        hint = "write define(a, b, event.price > 100)"
        raise builder_error("wrong-arguments", "define() takes one or more steps and then their condition", hint)
    *steps, condition = steps_and_condition
    node = condition_tree(condition, "define()")
    return tree.Definition(tuple(step_name(s, "define()") for s in steps), node)


def _names(names: tuple[object, ...], where: str, subject: str) -> tuple[str, ...]:
    if not names:
        raise builder_error("wrong-arguments", f"{where} takes at least one name")
    return tuple(checked_name(n, subject) for n in names)


# ── SUBSCRIBE ──


class SubscriptionBuilder(_ReadingBuilder[tree.Subscription]):
    """A subscription, clause by clause, in any order.

    >>> from foretell.build import event, minutes, steps, subscribe, variable
    >>> window, presence = steps("window", "presence")
    >>> same_room = event.room == variable("r")
    >>> (subscribe("break_in").from_("office").match(window.then(presence))
    ...     .define(window, (event.kind == "window broken") & same_room)
    ...     .define(presence, (event.kind == "presence") & same_room)
    ...     .within(minutes(5)).consume())
    SUBSCRIBE break_in
    FROM office
    MATCH window ; presence
    DEFINE window AS kind = 'window broken' AND room = $r,
           presence AS kind = 'presence' AND room = $r
    WITHIN 5 min
    AFTER MATCH CONSUME;
    """

    _kind = tree.Subscription
    _missing: ClassVar = {"FROM": ".from_('logins')", "MATCH": ".match(a.then(b))"}

    def match(self, pattern: PatternBuilder) -> Self:
        return self._with_clause("MATCH", pattern_tree(pattern, "match()"))

    def within(self, length: DurationLike) -> Self:
        """WITHIN: from the first to the last event at most this long."""
        return self._with_clause("WITHIN", duration_tree(length, "within()"))

    def having(self, condition: ExpressionBuilder) -> Self:
        """HAVING: a condition on the finished match."""
        return self._with_clause("HAVING", condition_tree(condition, "having()"))

    def returning(self, **columns: Operand) -> Self:
        """RETURN: what a notification carries, by name: `returning(n=count(b), mean=b.price.avg())`."""
        if not columns:
            raise builder_error(
                "wrong-arguments", "returning() takes at least one column", "write returning(n=count(b))"
            )
        returned = (tree.Returned(value_tree(value), checked_name(n, "a column")) for n, value in columns.items())
        return self._with_clause("RETURN", tuple(returned))

    def forecast(self, *, above: float, events: int | None = None, within: DurationLike | None = None) -> Self:
        """FORECAST: notify when a match within this many events, or this time, has at least this probability."""
        return self._with_clause("FORECAST", _forecast(above, events, within))

    def losing(self, *losses: LossOf, above: float, score: str | None = None) -> Self:
        """LOSING: `losing(0.05, above=0.8)`, of some steps `losing((0.05, x, y), (0.1, z), above=0.8)`.

        Without a probability the streams' own LOSS is taken. `score` is None, "independent" or "published".
        """
        items = tuple(_losing_item(loss) for loss in losses)
        return self._with_clause("LOSING", tree.Losing(items, probability(above), _score(score)))

    # ── AFTER MATCH ──

    def hold(self) -> Self:
        """AFTER MATCH HOLD, the default: every match is reported."""
        return self._after(tree.Policy.HOLD)

    def consume(self) -> Self:
        """AFTER MATCH CONSUME: an event is part of one match at most."""
        return self._after(tree.Policy.CONSUME)

    def longest(self) -> Self:
        """AFTER MATCH LONGEST: the whole run, told once nothing can make it longer."""
        return self._after(tree.Policy.LONGEST)

    def skip_past_last(self) -> Self:
        return self._after(tree.Policy.SKIP_PAST_LAST)

    def skip_to_next(self) -> Self:
        return self._after(tree.Policy.SKIP_TO_NEXT)

    def skip_to_first(self, step: StepBuilder) -> Self:
        return self._after(tree.Policy.SKIP_TO_FIRST, step_name(step, "skip_to_first()"))

    def skip_to_last(self, step: StepBuilder) -> Self:
        return self._after(tree.Policy.SKIP_TO_LAST, step_name(step, "skip_to_last()"))

    def _after(self, policy: tree.Policy, step: str | None = None) -> Self:
        return self._with_clause("AFTER MATCH", tree.AfterMatch(policy, step))


def _forecast(
    above: float, events: int | None, within: DurationLike | None, tokens: tuple[str, ...] = ()
) -> tree.Forecast:
    if (events is None) == (within is None):
        raise builder_error(
            "wrong-arguments", "forecast() takes either events= or within=", "write forecast(events=10, above=0.8)"
        )
    number = None if events is None else whole(events, "the horizon", 1)
    length = None if within is None else duration_tree(within, "within=")
    return tree.Forecast(probability(above), number, length, tokens)


def _losing_item(loss: object) -> tree.LosingItem:
    if not isinstance(loss, tuple):
        return tree.LosingItem(probability(loss))
    share, *steps = loss
    return tree.LosingItem(probability(share), tuple(step_name(s, "losing()") for s in steps))


def _score(score: str | None) -> tree.Score:
    for known in tree.Score:
        if score == (None if known is tree.Score.BOTH_ENDS else known.value):
            return known
    raise builder_error("wrong-arguments", f"unknown score {score!r}", 'write score="independent" or "published"')


def subscribe(name: str) -> SubscriptionBuilder:
    """Starts a SUBSCRIBE statement."""
    return SubscriptionBuilder(name=checked_name(name, "a subscription"))


# ── STREAM ──


class StreamBuilder(StatementBuilder[tree.Stream]):
    """A stream's declaration.

    >>> from foretell.build import event, seconds, stream
    >>> stream("reads", id=str, reader=str).time("at").late_by(seconds(10)).loss(0.05, when=event.reader == "B")
    STREAM reads (id STRING, reader STRING) TIME at LATE BY 10 s LOSS 0.05 WHEN reader = 'B';
    """

    _kind = tree.Stream
    _missing: ClassVar = {"TIME": ".time('column')"}

    def time(self, attribute: str) -> Self:
        return self._with_clause("TIME", checked_name(attribute, "an attribute"))

    def id(self, attribute: str) -> Self:
        """ID: the attribute by which notifications name an event."""
        return self._with_clause("ID", checked_name(attribute, "an attribute"))

    def order_by(self, attribute: str) -> Self:
        """ORDER BY: the tie-breaker between events of the same time."""
        return self._with_clause("ORDER BY", checked_name(attribute, "an attribute"))

    def simultaneous(self) -> Self:
        """TIES SIMULTANEOUS: events of the same time do not follow one another."""
        return self._with_clause("TIES", True)

    def late_by(self, length: DurationLike) -> Self:
        return self._with_clause("LATE BY", duration_tree(length, "late_by()"))

    def loss(self, share: float, *, when: ExpressionBuilder | None = None) -> Self:
        """LOSS: the probability that an event is lost; call it again for other events."""
        condition = None if when is None else condition_tree(when, "when=")
        return self._with_item("LOSS", tree.Loss(probability(share), condition))

    def null(self, *markers: str | int | float) -> Self:
        """NULL: texts and numbers that stand for a missing value."""
        if not markers:
            raise builder_error("wrong-arguments", "null() takes at least one marker", "write null('NA', -99)")
        return self._with_clause("NULL", tuple(_marker(marker) for marker in markers))

    def let(self, **attributes: Operand) -> Self:
        """LET: attributes that are worked out from the event's own, by name: `let(speed=event.x / event.y)`."""
        if not attributes:
            raise builder_error("wrong-arguments", "let() takes at least one attribute", "write let(far=event.x > 10)")
        derived = (tree.Derived(checked_name(n, "an attribute"), value_tree(v)) for n, v in attributes.items())
        return self._with_clause("LET", tuple(derived))


def _marker(marker: object) -> tree.Literal:
    node = value_tree(marker)
    if isinstance(node, tree.Literal) and not isinstance(node.value, bool) and node.value is not None:
        return node
    raise builder_error("not-a-marker", f"null() takes texts and numbers, not {marker!r}")


def stream(name: str, /, **attributes: type | Type) -> StreamBuilder:
    """Starts a STREAM statement: `stream("logins", ip=str, status=str).time("time")`.

    Types are bool, int, float, str and datetime.
    """
    declared = tuple(tree.Declared(checked_name(n, "an attribute"), _type(n, kind)) for n, kind in attributes.items())
    return StreamBuilder(name=checked_name(name, "a stream"), attributes=declared)


def _type(name: str, kind: object) -> Type:
    if isinstance(kind, type) and kind in _TYPES:
        return _TYPES[kind]
    if isinstance(kind, Type) and kind in ATTRIBUTE_TYPES:
        return kind
    shown = kind.__qualname__ if isinstance(kind, type) else repr(kind)
    raise builder_error(
        "unknown-type", f"'{name}' cannot have the type {shown}", "use bool, int, float, str or datetime"
    )


# ── CORRELATE ──


class CorrelatorBuilder(_ReadingBuilder[tree.Correlator]):
    """A correlator.

    >>> from foretell.build import accumulate, correlate, event, push, repeat, steps
    >>> a, b = steps("a", "b")
    >>> both = correlate("both").from_("s").do(repeat(push("x", accumulate(a, b))))
    >>> both.define(a, event.kind == "a").define(b, event.kind == "b")
    CORRELATE both
    FROM s
    DO repeat{push('x'){accumulate{a, b}}}
    DEFINE a AS kind = 'a',
           b AS kind = 'b';
    """

    _kind = tree.Correlator
    _missing: ClassVar = {"FROM": ".from_('logins')", "DO": ".do(accumulate(a, b))"}

    def do(self, expression: Part) -> Self:
        return self._with_clause("DO", correlation_tree(expression, "do()"))

    def forecast(
        self, *tokens: str, above: float, events: int | None = None, within: DurationLike | None = None
    ) -> Self:
        """FORECAST: notify when one of these tokens within this many events, or this time, has at least this
        probability; without names any token."""
        for token in tokens:
            if not isinstance(token, str):
                raise builder_error("not-a-token", f"forecast() takes the texts of tokens, not {token!r}")
        return self._with_clause("FORECAST", _forecast(above, events, within, tuple(str.__str__(t) for t in tokens)))


def correlate(name: str) -> CorrelatorBuilder:
    """Starts a CORRELATE statement."""
    return CorrelatorBuilder(name=checked_name(name, "a correlator"))


def subscriptions(*statements: StatementBuilder[Any]) -> Subscriptions:
    """The statements, checked and ready to run, as `ft.parse` returns them. Errors point into the printed text.

    >>> from foretell.build import steps, subscribe, subscriptions
    >>> import foretell as ft
    >>> a, b = steps("a", "b")
    >>> rise = subscribe("rise").from_("ticks").match(a.next(b)).define(b, b.price > a.price)
    >>> subscriptions(rise) == ft.parse("SUBSCRIBE rise FROM ticks MATCH a , b DEFINE b AS b.price > a.price")
    True
    """
    for statement in statements:
        if not isinstance(statement, StatementBuilder):
            raise builder_error(
                "not-a-statement", f"subscriptions() takes statements, not {statement!r}", "use ft.parse(text) for text"
            )
    return of_program(tree.Program(tuple(s.tree for s in statements)))
