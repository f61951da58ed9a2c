"""Values and conditions, made with Python's operators."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from foretell.errors import suggestion
from foretell.language import tree
from foretell.language.builder.errors import NotAValue, NotIterable, builder_error, value_hint
from foretell.language.builder.functions import FunctionMethods
from foretell.language.builder.literals import Plain, literal_tree
from foretell.language.printer import expression_text

#: The methods of a step; any other word behind its dot is an attribute of its event.
STEP_WORDS = (
    *("then", "next", "at", "optional", "some", "any_number", "times", "at_least"),
    *("only_first", "only_last", "attribute"),
)


class ExpressionBuilder(FunctionMethods, NotIterable):
    """A value or a condition, with Python's operators: `== != < <= > >=`, `+ - * / %`, and `& | ~` for AND OR NOT.

    In Python `&` and `|` bind more tightly than comparisons, so comparisons that are joined stand in parentheses:

    >>> from foretell.build import event, variable
    >>> (event.ip == variable("x")) & ~event.status.in_("ok", "new")
    ip = $x AND status NOT IN ('ok', 'new')
    """

    # Only the subclasses below have instances: where one operand's class derives from the other's, Python would reverse
    # a comparison and make `y > x` of `x < y`.

    __array_ufunc__ = None  # a NumPy number on the left leaves the operator to us

    def __init__(self, node: tree.Expression) -> None:
        self._tree = node

    def __repr__(self) -> str:
        return expression_text(self._tree)

    # ── comparisons ──

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return _compared("=", self, other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return _compared("<>", self, other)

    def __lt__(self, other: Operand) -> Value:
        return _compared("<", self, other)

    def __le__(self, other: Operand) -> Value:
        return _compared("<=", self, other)

    def __gt__(self, other: Operand) -> Value:
        return _compared(">", self, other)

    def __ge__(self, other: Operand) -> Value:
        return _compared(">=", self, other)

    def in_(self, *options: Operand) -> Value:
        """`x IN (…)`; `~x.in_(…)` is `x NOT IN (…)`."""
        if not options:
            raise builder_error("wrong-arguments", "in_() takes at least one option")
        return Value(tree.In(self._tree, tuple(map(value_tree, options))))

    def between(self, low: Operand, high: Operand) -> Value:
        """`x BETWEEN low AND high`, both included."""
        return Value(tree.Between(self._tree, value_tree(low), value_tree(high)))

    def like(self, pattern: str | ExpressionBuilder) -> Value:
        """`x LIKE pattern`: `%` stands for any text, `_` for one character."""
        return Value(tree.Like(self._tree, value_tree(pattern)))

    def is_null(self) -> Value:
        """`x IS NULL`; `~x.is_null()` is `x IS NOT NULL`."""
        return Value(tree.IsNull(self._tree))

    # ── conditions ──

    def __and__(self, other: ExpressionBuilder) -> Value:
        return Value(tree.Binary("AND", self._tree, condition_tree(other, "&")))

    def __or__(self, other: ExpressionBuilder) -> Value:
        return Value(tree.Binary("OR", self._tree, condition_tree(other, "|")))

    def __invert__(self) -> Value:
        match self._tree:
            case tree.In(value, options, negated):
                return Value(tree.In(value, options, not negated))
            case tree.Between(value, low, high, negated):
                return Value(tree.Between(value, low, high, not negated))
            case tree.Like(value, pattern, negated):
                return Value(tree.Like(value, pattern, not negated))
            case tree.IsNull(value, negated):
                return Value(tree.IsNull(value, not negated))
        return Value(tree.Unary("NOT", self._tree))

    # ── arithmetic ──

    def __add__(self, other: Operand) -> Value:
        return _computed("+", self, other)

    def __radd__(self, other: Plain) -> Value:
        return _computed("+", other, self)

    def __sub__(self, other: Operand) -> Value:
        return _computed("-", self, other)

    def __rsub__(self, other: Plain) -> Value:
        return _computed("-", other, self)

    def __mul__(self, other: Operand) -> Value:
        return _computed("*", self, other)

    def __rmul__(self, other: Plain) -> Value:
        return _computed("*", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return _computed("/", self, other)

    def __rtruediv__(self, other: Plain) -> Value:
        return _computed("/", other, self)

    def __mod__(self, other: Operand) -> Value:
        return _computed("%", self, other)

    def __rmod__(self, other: Plain) -> Value:
        return _computed("%", other, self)

    def __neg__(self) -> Value:
        match self._tree:
            case tree.Literal(value=int() | float() as number) if not isinstance(number, bool):
                return Value(tree.Literal(-number))
            case tree.Span(amount=amount, unit=unit):
                return Value(tree.Span(-amount, unit))
        return Value(tree.Unary("-", self._tree))

    def _call(self, function: str, *others: Operand) -> Value:
        return Value(tree.Call(function, (self._tree, *map(value_tree, others))))

    if not TYPE_CHECKING:

        def __bool__(self) -> NoReturn:
            raise builder_error(
                "no-truth",
                f"'{self!r}' is neither true nor false before the events come",
                "write & for 'and', | for 'or', ~ for 'not', with each comparison in parentheses; "
                "x.between(1, 5) for '1 <= x <= 5', x.in_(1, 5) for 'x in (1, 5)'",
            )

        def __contains__(self, part: object) -> NoReturn:
            hint = f"write x.contains({part!r})"
            raise builder_error("no-truth", f"'in' cannot look into '{self!r}' before the events come", hint)

        def __hash__(self) -> NoReturn:
            raise builder_error(
                "no-hash", f"'{self!r}' cannot be put in a set or used as a key", "write x.in_(1, 5) for 'x in {1, 5}'"
            )

        def __rand__(self, other: object) -> NoReturn:
            condition_tree(other, "&")

        def __ror__(self, other: object) -> NoReturn:
            condition_tree(other, "|")


class Value(ExpressionBuilder):
    """A value or condition made of others."""


class StepAttribute(ExpressionBuilder):
    """An attribute of a step, `b.price`; over all events of a repeated step it has aggregates, `b.price.avg()`."""

    def count(self) -> Value:
        return self._aggregate("count")

    def sum(self) -> Value:
        return self._aggregate("sum")

    def avg(self) -> Value:
        return self._aggregate("avg")

    def min(self) -> Value:
        return self._aggregate("min")

    def max(self) -> Value:
        return self._aggregate("max")

    def _aggregate(self, function: str) -> Value:
        if isinstance(self._tree, tree.StreamOf):
            hint = "write a.attribute('stream') for an attribute of that name"
            raise builder_error("not-step-attribute", f"'{self!r}' is the stream of the event, not an attribute", hint)
        assert isinstance(self._tree, tree.Attribute)
        assert isinstance(self._tree.event, tree.BoundEvent)
        return Value(tree.Aggregate(function, self._tree.event.step, self._tree.name))

    if not TYPE_CHECKING:

        def __call__(self, *_: object, **__: object) -> NoReturn:
            close = suggestion(getattr(self._tree, "name", "stream"), STEP_WORDS)
            hint = close if close.startswith("did you mean") else ""
            raise builder_error("not-callable", f"'{self!r}' is an attribute, it cannot be called", hint)


#: An operand: an expression or a Python value.
Operand: TypeAlias = ExpressionBuilder | Plain


def value_tree(value: object) -> tree.Expression:
    if isinstance(value, ExpressionBuilder):
        return value._tree
    if isinstance(value, NotAValue):
        raise builder_error("not-a-value", f"'{value!r}' is an event, not a value", value_hint(value))
    return literal_tree(value)


def condition_tree(condition: object, where: str) -> tree.Expression:
    """The condition that stands beside `where`: `&`, or the name of a clause."""
    if isinstance(condition, ExpressionBuilder):
        return condition._tree
    if isinstance(condition, NotAValue):
        hint = f"compare one of its attributes: {condition!r}.price > 100"
        raise builder_error("not-a-condition", f"{where} takes a condition, '{condition!r}' is an event", hint)
    if isinstance(condition, bool):
        # `a.next == 5` compares a method, and `"x" == "y"` two texts: Python answers without asking us.
        hint = 'write a.attribute("next") for an attribute that is also a method, literal(True) for TRUE itself'
        message = f"{where} takes a condition, not {condition}: Python compared two of its own values"
        raise builder_error("not-a-condition", message, hint)
    hint = f"put each comparison in parentheses: (x > 5) {where} (y < 3)" if where in ("&", "|") else ""
    raise builder_error("not-a-condition", f"{where} takes a condition, not {condition!r}", hint)


def _compared(operator: str, left: ExpressionBuilder, right: object) -> Value:
    if right is None:
        hint = f"write {'' if operator == '=' else '~'}x.is_null()"
        raise builder_error("compared-with-null", "a comparison with NULL never holds", hint)
    sides = left._tree, value_tree(right)
    for side in sides:
        if isinstance(side, tree.Binary) and side.operator in ("AND", "OR"):
            sign = {"AND": "&", "OR": "|"}[side.operator]
            message = (
                f"'{sign}' binds more tightly than a comparison in Python: '{expression_text(side)}' was joined first"
            )
            raise builder_error("joined-first", message, f"put each comparison in parentheses: (x > 5) {sign} (y < 3)")
    return Value(tree.Binary(operator, *sides))


def _computed(operator: str, left: object, right: object) -> Value:
    return Value(tree.Binary(operator, value_tree(left), value_tree(right)))


# ── CASE ──


class CaseBuilder(ExpressionBuilder):
    """`CASE WHEN … THEN … END`; more branches and the ELSE follow as methods.

    >>> from foretell.build import case, event
    >>> case(event.price > 100, "dear").when(event.price > 10, "fair").otherwise("cheap")
    CASE WHEN price > 100 THEN 'dear' WHEN price > 10 THEN 'fair' ELSE 'cheap' END
    """

    def when(self, condition: ExpressionBuilder, value: Operand) -> CaseBuilder:
        """One more branch: the value where the condition is true, and none before it is."""
        assert isinstance(self._tree, tree.Case)
        conditions, values = self._tree.conditions, self._tree.values
        return CaseBuilder(tree.Case((*conditions, condition_tree(condition, "when()")), (*values, value_tree(value))))

    def otherwise(self, value: Operand) -> Value:
        """ELSE: the value where no condition is true; without it, NULL."""
        assert isinstance(self._tree, tree.Case)
        return Value(replace(self._tree, otherwise=value_tree(value)))


def case(condition: ExpressionBuilder, value: Operand) -> CaseBuilder:
    """`CASE WHEN condition THEN value END`."""
    return CaseBuilder(tree.Case((condition_tree(condition, "case()"),), (value_tree(value),)))


# ── literals, variables, parameters ──


def literal(value: Plain) -> Value:
    """A Python value where an expression has to come first: `literal(1) < a.price`."""
    return Value(literal_tree(value))


def variable(name: str) -> Value:
    """`$name`: the first event that meets `event.attr == variable("name")` binds it, later ones must agree."""
    return Value(tree.Variable(_word(name, "a variable")))


def parameter(name: str) -> Value:
    """`:name`, a column of the FOR EACH table."""
    return Value(tree.Parameter(_word(name, "a parameter")))


def _word(name: object, subject: str) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise builder_error("not-a-name", f"the name of {subject} takes letters, digits and _, not {name!r}")
    return name


#: `duration`: the time from the first to the last event of the match so far.
duration = Value(tree.Elapsed())
