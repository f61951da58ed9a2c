"""Types for what a text leaves open: attributes of streams without a schema, their time, and columns of tables.

They follow from use: what is compared with a text is a STRING, what is calculated with is a number. Where use allows
several types the least restrictive is assumed: FLOAT for a number, so that a contradiction holds for an INT too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.language.functions import CALENDAR_FIELDS, TEXT_TESTS

AnyStatement = TypeVar("AnyStatement", bound=CheckedStatement)

#: What has a type of its own: an attribute, a parameter, a variable, or time.
Subject = tuple[str, str]

_TIME: Subject = ("time", "")
_TEXTS = (*TEXT_TESTS, "regexp_like", "substr", "lower", "upper", "length")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_OPEN = (Type.UNKNOWN, Type.NULL)


def with_assumed_types(statement: AnyStatement) -> AnyStatement:
    """The statement with a type for each attribute that it names, and for time."""
    if not _is_open(statement):
        return statement
    kinds = assumed_kinds(statement)
    attributes = {**statement.attributes}
    for form, name in kinds:
        if form == "attribute" and attributes.get(name, Type.UNKNOWN) in _OPEN:
            attributes[name] = kinds[form, name]
    time = kinds[_TIME] if statement.time in _OPEN else statement.time
    return replace(statement, attributes=attributes, time=time)


def _is_open(statement: CheckedStatement) -> bool:
    """Whether the type of time, or of an attribute that the statement names, is not known."""
    known = statement.attributes
    if statement.time in _OPEN or any(kind in _OPEN for kind in known.values()):
        return True
    nodes = (node for expression in expressions_of(statement) for node in expression.walk())
    return any(isinstance(node, tree.Attribute) and node.name not in known for node in nodes)


def parameter_types(statement: CheckedStatement) -> Mapping[str, Type]:
    """The types of the columns of the FOR EACH table, as the statement uses them."""
    if getattr(statement.tree, "table", None) is None:
        return {}
    kinds = assumed_kinds(statement)
    return {name: kind for (form, name), kind in kinds.items() if form == "parameter"}


def assumed_kinds(statement: CheckedStatement) -> Mapping[Subject, Type]:
    """The types that use shows. Several questions about a statement, one after the other, need them."""
    for known, kinds in _latest:
        if known is statement:
            return kinds
    _latest.append((statement, _assumed_kinds(statement)))
    return _latest[-1][1]


#: The latest statements, by which their types are found: it would take long to compare or hash them.
_latest: deque[tuple[CheckedStatement, Mapping[Subject, Type]]] = deque(maxlen=4)


def _assumed_kinds(statement: CheckedStatement) -> dict[Subject, Type]:
    kinds: dict[Subject, Type] = {}
    for name, kind in statement.attributes.items():
        if kind not in _OPEN:
            kinds["attribute", str(name)] = kind
    if statement.time not in _OPEN:
        kinds[_TIME] = statement.time
    groups = [group for expression in expressions_of(statement) for group in _groups(expression)]
    groups += [[condition, tree.Literal(True)] for condition in _conditions_of(statement)]
    if isinstance(statement, CheckedSubscription):
        kinds |= {("variable", n): kind for n, kind in statement.variables.items() if kind not in _OPEN}
        groups += [[tree.Variable(v), e] for step in statement.steps.values() for v, e in step.binders]
        if isinstance(statement.tree.within, tree.Span):
            groups.append([tree.TimeOf(tree.This()), tree.Moment(0)])
    _unify(groups, kinds)
    for expression in expressions_of(statement):
        for node in expression.walk():
            for subject in _subjects(node):
                kinds.setdefault(subject, Type.FLOAT)
    if kinds.get(_TIME) not in (Type.INT, Type.FLOAT, Type.TIMESTAMP):
        kinds[_TIME] = Type.INT
    return kinds


def expressions_of(statement: CheckedStatement) -> Iterator[tree.Expression]:
    """All expressions of a statement."""
    yield from _conditions_of(statement)
    if isinstance(statement, CheckedSubscription):
        yield from (returned.expression for returned in statement.tree.returns)


def _conditions_of(statement: CheckedStatement) -> Iterator[tree.Expression]:
    nodes = [statement.tree.pattern] if isinstance(statement, CheckedSubscription) else []
    for definition in statement.tree.definitions:
        yield definition.condition
    if isinstance(statement, CheckedSubscription):
        for step in statement.steps.values():
            yield from step.shape.conditions
        yield from (n.condition for root in nodes for n in root.walk() if isinstance(n, tree.FirstWhere))
        yield from () if statement.tree.having is None else (statement.tree.having,)


def _unify(groups: list[list[tree.Expression]], kinds: dict[Subject, Type]) -> None:
    """Gives what is compared with something of a known type that type, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for group in groups:
            known = next((k for e in group if (k := _kind(e, kinds)) is not None), None)
            if known is None:
                continue
            for member in group:
                for subject in _whole_subject(member):
                    if subject not in kinds:
                        kinds[subject] = Type.FLOAT if known is Type.INT else known
                        changed = True


def _groups(expression: tree.Expression) -> Iterator[list[tree.Expression]]:
    """Expressions that have one type."""
    for node in expression.walk():
        match node:
            case tree.Binary(operator="AND" | "OR", left=left, right=right):
                yield [left, right, tree.Literal(True)]
            case tree.Binary(operator=operator, left=left, right=right) if operator in _COMPARISONS:
                yield [left, right]
            case tree.Binary(operator="+" | "-", left=left, right=right):
                yield from _timed(left, right)
            case tree.Unary(operator="NOT", operand=operand):
                yield [operand, tree.Literal(True)]
            case tree.In(value=value, options=options):
                yield [value, *options[:50]]
            case tree.Between(value=value, low=low, high=high):
                yield [value, low, high]
            case tree.Like(value=value, pattern=pattern):
                yield [value, pattern, tree.Literal("")]
            case tree.Case(conditions=conditions, results=results):
                yield [*conditions, tree.Literal(True)]
                yield list(results)
            case tree.Call(function="coalesce", arguments=arguments):
                yield list(arguments)
            case tree.Call(function=function, arguments=arguments) if function in CALENDAR_FIELDS:
                yield [arguments[0], tree.Moment(0)]
            case tree.Call(function=function, arguments=arguments) if function in _TEXTS:
                texts = arguments[:1] if function == "substr" else arguments
                yield [*texts, tree.Literal("")]


def _timed(left: tree.Expression, right: tree.Expression) -> Iterator[list[tree.Expression]]:
    """A point in time and a duration, where one of them shows by its unit."""
    for side, other in ((left, right), (right, left)):
        if isinstance(other, tree.Span):
            yield [side, tree.Moment(0)]
        elif isinstance(other, tree.TimeOf):
            yield [side, other]


def _whole_subject(expression: tree.Expression) -> Iterator[Subject]:
    """The subject that an expression is; of a difference of times time itself, where it has a unit."""
    match expression:
        case tree.Binary(operator="+" | "-", left=left, right=right):
            yield from (s for side in (left, right) for s in _whole_subject(side) if s == _TIME)
        case tree.Call(function="abs", arguments=(argument,)):
            yield from _whole_subject(argument)
        case _:
            yield from _subjects(expression)


def _subjects(node: tree.Node) -> Iterator[Subject]:
    match node:
        case tree.Attribute(name=name):
            yield "attribute", str(name)
        case tree.Aggregate(function="sum" | "min" | "max", attribute=str(name)):
            yield "attribute", str(name)
        case tree.Parameter(name=name):
            yield "parameter", str(name)
        case tree.Variable(name=name):
            yield "variable", str(name)
        case tree.TimeOf() | tree.Elapsed():
            yield _TIME


def _kind(expression: tree.Expression, kinds: Mapping[Subject, Type]) -> Type | None:
    """The type of an expression where it shows. A duration shows that times are points in time."""
    match expression:
        case tree.Literal(value=None):
            return None
        case tree.Literal(value=value):
            return {bool: Type.BOOL, int: Type.INT, float: Type.FLOAT, str: Type.STRING}[type(value)]
        case tree.Span() | tree.Moment():
            return Type.TIMESTAMP
        case tree.StreamOf():
            return Type.STRING
        case tree.Call(function=function) if function in ("substr", "lower", "upper"):
            return Type.STRING
        case tree.Binary(left=left, right=right) if Type.TIMESTAMP in (_kind(left, kinds), _kind(right, kinds)):
            return Type.TIMESTAMP
        case tree.Binary(operator="*" | "/" | "%") | tree.Call(function="length" | "sqrt" | "pow" | "ln" | "exp"):
            return Type.FLOAT
    return next((kinds[subject] for subject in _subjects(expression) if subject in kinds), None)
