"""Conditions and values as formulas, one case for each kind of expression, with NULL as in SQL."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from foretell.check.conditions.arithmetic import arithmetic, as_float, calculates, comparison, opposite, rounded
from foretell.check.conditions.calls import accepts, call_value, result_type
from foretell.check.conditions.event_model import EventModel, SymbolicEvent
from foretell.check.conditions.facts import Facts, real, sort_of
from foretell.check.conditions.frames import SymbolicFrame
from foretell.check.conditions.texts import TextTheory
from foretell.check.conditions.values import (
    FALSE,
    NULL,
    TRUE,
    SqlValue,
    all_of,
    any_of,
    both,
    choice,
    conjunction_of,
    disjunction_of,
    either,
    first_known,
    negation,
    negation_of,
    truth,
)
from foretell.events.types import Type
from foretell.language import tree

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class Encoder:
    """Turns expressions into formulas. What formulas cannot say becomes a symbol that may have any value."""

    def __init__(self, model: EventModel, texts: TextTheory, facts: Facts) -> None:
        self.model = model
        self.texts = texts
        self.facts = facts

    def holds(self, condition: tree.Expression, frame: SymbolicFrame) -> z3.BoolRef:
        """Whether a condition is true."""
        return self.value(condition, frame).is_true

    def value(self, expression: tree.Expression, frame: SymbolicFrame) -> SqlValue:
        match expression:
            case tree.Literal(value=literal):
                return self._literal(literal)
            case tree.Span(micros=micros):
                return SqlValue(Type.DURATION, z3.IntVal(micros), FALSE)
            case tree.Moment(micros=micros):
                return SqlValue(Type.TIMESTAMP, z3.IntVal(micros), FALSE)
            case tree.Variable(name=name):
                return frame.variables.get(str(name), NULL)
            case tree.Parameter(name=name):
                return frame.parameters.get(str(name), NULL)
            case tree.Attribute(event=reference, name=name):
                event = frame.event(reference)
                return NULL if event is None else self.attribute(event, str(name))
            case tree.StreamOf(event=reference):
                event = frame.event(reference)
                return NULL if event is None else self._stream(event)
            case tree.TimeOf(event=reference):
                event = frame.event(reference)
                return NULL if event is None else SqlValue(self.model.time, event.end, FALSE)
            case tree.Elapsed():
                return self._elapsed(frame, expression)
            case tree.Aggregate():
                return self._aggregate(expression, frame)
            case tree.Unary(operator="NOT", operand=operand):
                return negation_of(self.condition(operand, frame))
            case tree.Unary(operand=operand):
                return opposite(self.value(operand, frame), self.facts)
            case tree.Binary():
                return self._binary(expression, frame)
            case tree.IsNull(value=inner, negated=negated):
                null = self.value(inner, frame).null
                return truth(negation(null) if negated else null)
            case tree.Case():
                return self._case(expression, frame)
            case tree.Call(function=function, arguments=arguments):
                values = [self.value(argument, frame) for argument in arguments]
                if function == "coalesce":
                    return self._chosen(values)
                constant = next((a.value for a in arguments[1:] if isinstance(a, tree.Literal)), None)
                if accepts(function, values):
                    return call_value(function, values, constant, self.texts)
                return self.unknown(result_type(function))
        tested = self._test(expression, frame)
        return negation_of(tested) if getattr(expression, "negated", False) else tested

    def condition(self, expression: tree.Expression, frame: SymbolicFrame) -> SqlValue:
        """The value of a condition. NULL is one too."""
        found = self.value(expression, frame)
        return found if found.kind is Type.BOOL else truth(FALSE, TRUE)

    def _test(self, expression: tree.Expression, frame: SymbolicFrame) -> SqlValue:
        """IN, BETWEEN and LIKE, before NOT."""
        match expression:
            case tree.In(value=inner, options=options):
                found = self.value(inner, frame)
                tests = [self._compare("=", found, self.value(option, frame)) for option in options]
                value = any_of(test.is_true for test in tests)
                return truth(value, both(negation(value), any_of(test.null for test in tests)))
            case tree.Between(value=inner, low=low, high=high):
                found = self.value(inner, frame)
                above = self._compare(">=", found, self.value(low, frame))
                return conjunction_of(above, self._compare("<=", found, self.value(high, frame)))
            case tree.Like(value=inner, pattern=pattern):
                text, wanted = self.value(inner, frame), self.value(pattern, frame)
                if Type.NULL in (text.kind, wanted.kind):
                    return truth(FALSE, TRUE)
                constant = pattern.value if isinstance(pattern, tree.Literal) else None
                known = constant if isinstance(constant, str) else None
                return truth(self.texts.like(text.value, wanted.value, known), either(text.null, wanted.null))
        raise AssertionError(expression)

    # ── single values ──

    def _literal(self, literal: bool | int | float | str | None) -> SqlValue:
        match literal:
            case None:
                return NULL
            case bool():
                return truth(z3.BoolVal(literal))
            case int():
                return SqlValue(Type.INT, z3.IntVal(literal), FALSE)
            case float():
                return SqlValue(Type.FLOAT, real(literal), FALSE)
        return SqlValue(Type.STRING, self.texts.literal(literal), FALSE)

    def unknown(self, kind: Type) -> SqlValue:
        """A value of which nothing is known."""
        return SqlValue(kind, self.facts.fresh(kind, self.texts.sort), self.facts.fresh_flag())

    def attribute(self, event: SymbolicEvent, name: str) -> SqlValue:
        """An attribute of an event. LET attributes follow from the others; those that a stream lacks are NULL."""
        known = event.attributes.get(name)
        if known is not None:
            return known
        sources = self.model.sources
        if len(sources) == 1 and not event.free:
            (source,) = sources
            if name == source.time:
                return SqlValue(self.model.time, event.end, FALSE)
            if name in source.lets:
                event.attributes[name] = found = self._let(event, name, source.lets[name])
                return found
        found = event.symbol(name, sort_of(self.model.types.get(name, Type.FLOAT), self.texts.sort), self.facts)
        if len(sources) > 1 and not event.free:
            self._tie_to_streams(event, name, found)
        return found

    def _let(self, event: SymbolicEvent, name: str, expression: tree.Expression) -> SqlValue:
        found = self.value(expression, SymbolicFrame(this=event))
        kind = self.model.types.get(name, found.kind)
        if found.kind is Type.DURATION and kind is Type.FLOAT:
            return rounded(z3.ToReal(found.value) / 1_000_000, found.null, (), self.facts)
        return self._as(found, kind)

    def _tie_to_streams(self, event: SymbolicEvent, name: str, found: SqlValue) -> None:
        for number, source in enumerate(self.model.sources):
            at = event.stream == number
            if name == source.time and found.kind is self.model.time:
                fact = both(negation(found.null), found.value == event.end)
            elif source.attributes is not None and name not in source.attributes and name != "stream":
                fact = found.null
            elif name in source.lets:
                own = self._let(event, name, source.lets[name])
                fact = both(own.null == found.null, either(own.null, own.value == found.value))
            else:
                continue
            self.facts.certain.append(z3.Implies(at, fact))

    def _stream(self, event: SymbolicEvent) -> SqlValue:
        names = [self.texts.literal(source.name) for source in self.model.sources]
        found = names[-1]
        for number, name in enumerate(names[:-1]):
            found = z3.If(event.stream == number, name, found)
        return SqlValue(Type.STRING, found, FALSE)

    def _elapsed(self, frame: SymbolicFrame, expression: tree.Expression) -> SqlValue:
        if frame.first is None or frame.last is None:
            return NULL if frame.open_value is None else frame.open_value(expression)
        first, last = frame.first.start, frame.last.end
        if self.model.time is Type.FLOAT:
            return rounded(last - first, FALSE, (last,), self.facts)
        return SqlValue(self.model.length, last - first, FALSE)

    # ── combined values ──

    def _compare(self, sign: str, left: SqlValue, right: SqlValue) -> SqlValue:
        if Type.STRING in (left.kind, right.kind) and left.kind is right.kind and sign not in ("=", "<>"):
            first, second = (left, right) if sign[0] == "<" else (right, left)
            less = self.texts.less(first.value, second.value)
            value = either(less, first.value == second.value) if sign[1:] else less
            return truth(value, either(left.null, right.null))
        if left.value.sort() != right.value.sort() and not (left.kind.numeric and right.kind.numeric):
            return truth(self.facts.fresh_flag(), either(left.null, right.null))
        return comparison(sign, left, right, self.facts)

    def _binary(self, binary: tree.Binary, frame: SymbolicFrame) -> SqlValue:
        if binary.operator in ("AND", "OR"):
            left, right = self.condition(binary.left, frame), self.condition(binary.right, frame)
            return conjunction_of(left, right) if binary.operator == "AND" else disjunction_of(left, right)
        left, right = self.value(binary.left, frame), self.value(binary.right, frame)
        if binary.operator in _COMPARISONS:
            return self._compare(binary.operator, left, right)
        if not calculates(binary.operator, left.kind, right.kind):
            return self.unknown(Type.FLOAT)
        return arithmetic(binary.operator, left, right, self.facts)

    def _case(self, case: tree.Case, frame: SymbolicFrame) -> SqlValue:
        conditions = [self.condition(condition, frame).is_true for condition in case.conditions]
        *results, otherwise = self._alike([self.value(result, frame) for result in case.results])
        for condition, result in zip(reversed(conditions), reversed(results), strict=True):
            value = choice(condition, result.value, otherwise.value)
            otherwise = SqlValue(result.kind, value, choice(condition, result.null, otherwise.null))
        return otherwise

    def _chosen(self, values: Sequence[SqlValue]) -> SqlValue:
        alike = self._alike(values)
        return first_known(alike, alike[0].kind)

    def _alike(self, values: Sequence[SqlValue]) -> list[SqlValue]:
        """Values as values of one type."""
        kinds = [found.kind for found in values if found.kind is not Type.NULL]
        kind = Type.FLOAT if Type.FLOAT in kinds else kinds[0] if kinds else Type.NULL
        return [self._as(found, kind) for found in values]

    def _as(self, found: SqlValue, kind: Type) -> SqlValue:
        if found.kind is kind:
            return found
        if found.kind is Type.NULL:
            return SqlValue(kind, self.facts.fresh(kind, self.texts.sort), TRUE)
        if kind is Type.FLOAT and found.kind is Type.INT:
            return as_float(found, self.facts)
        return self.unknown(kind)

    # ── aggregates ──

    def _aggregate(self, aggregate: tree.Aggregate, frame: SymbolicFrame) -> SqlValue:
        if frame.open_value is not None:
            return frame.open_value(aggregate)
        events = frame.before(str(aggregate.step))
        known = [event for event in events if not event.free]
        if aggregate.attribute is None and len(known) == len(events):
            return SqlValue(Type.INT, z3.IntVal(len(known)), FALSE)
        values = [] if aggregate.attribute is None else [self.attribute(e, str(aggregate.attribute)) for e in known]
        if len(known) < len(events):
            return self._open_aggregate(aggregate, values, len(known))
        if aggregate.function == "count":
            return SqlValue(Type.INT, z3.Sum([z3.If(found.null, 0, 1) for found in values] or [z3.IntVal(0)]), FALSE)
        if not values:
            return NULL
        if aggregate.function in ("min", "max"):
            return self._extreme(aggregate.function, values)
        return self._total(aggregate.function, values)

    def _open_aggregate(self, aggregate: tree.Aggregate, values: list[SqlValue], known: int) -> SqlValue:
        """An aggregate over some known events, and any number of others."""
        if aggregate.function == "count":
            count = self.facts.fresh(Type.INT, self.texts.sort)
            counted = [z3.If(found.null, 0, 1) for found in values]
            self.facts.certain.append(count >= (z3.Sum(counted) if counted else known))
            return SqlValue(Type.INT, count, FALSE)
        kind = self.model.types.get(str(aggregate.attribute), Type.FLOAT)
        return self.unknown(Type.FLOAT if aggregate.function == "avg" else kind)

    def _extreme(self, function: str, values: Sequence[SqlValue]) -> SqlValue:
        best, *rest = values
        for found in rest:
            better = self._compare("<" if function == "min" else ">", found, best).is_true
            taken = both(negation(found.null), either(best.null, better))
            best = SqlValue(best.kind, choice(taken, found.value, best.value), all_of((best.null, found.null)))
        return best

    def _total(self, function: str, values: Sequence[SqlValue]) -> SqlValue:
        """sum and avg: NULLs do not count; a sum that does not fit is NULL."""
        total, *rest = values
        broken: z3.BoolRef = FALSE
        for found in rest:
            longer = arithmetic("+", total, found, self.facts)
            overflow = both(negation(total.null), negation(found.null), longer.null)
            value = choice(found.null, total.value, choice(total.null, found.value, longer.value))
            broken = either(broken, overflow)
            total = SqlValue(total.kind, value, all_of((total.null, found.null)))
        total = SqlValue(total.kind, total.value, either(total.null, broken))
        if function == "sum":
            return total
        if not total.kind.numeric:
            return self.unknown(Type.FLOAT)
        whole = as_float(total, self.facts)
        count = z3.Sum([z3.If(found.null, 0, 1) for found in values])
        exact = whole.value
        for number in range(2, len(values) + 1):
            exact = z3.If(count == number, whole.value / number, exact)
        return rounded(exact, whole.null, (whole.value,) if len(values) == 1 else (), self.facts)
