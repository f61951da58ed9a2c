"""Findings about what a program could do without: streams that nothing reads, equal statements, equal steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.tree_keys import Names, conditions_key, statement_key, subscription_key, tree_key
from foretell.errors import Place
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.tree import place_of


def unused_streams(program: tree.Program) -> Iterator[Finding]:
    """Declared streams that no statement reads. A file of declarations alone is for others to read."""
    reading = [s for s in program.statements if isinstance(s, tree.Subscription | tree.Correlator)]
    read = {str(name) for statement in reading for name in statement.streams}
    for statement in program.statements:
        if reading and isinstance(statement, tree.Stream) and str(statement.name) not in read:
            message = f"no statement reads the stream '{statement.name}'"
            yield Finding(
                "unused-stream", str(statement.name), message, place_of(statement.name), "delete it, or read it in FROM"
            )


def duplicate_statements(program: CheckedProgram) -> Iterator[Finding]:
    """Statements that are, but for the names of their steps, equal to an earlier one of the text."""
    first: dict[Hashable, CheckedStatement] = {}
    for statement in sorted(program.statements, key=_position):
        known = first.setdefault(statement_key(statement), statement)
        if known is not statement:
            place = place_of(known.tree.name)
            yield Finding(
                "duplicate-statement",
                statement.name,
                f"'{statement.name}' is the same statement as '{known.name}', line {place.line}",
                place_of(statement.tree.name),
                f"delete it, and read the results of '{known.name}'",
            )


def equivalent_statements(program: CheckedProgram, deadline: Deadline) -> Iterator[Finding]:
    """Statements that notify at the same events as an earlier one, in the same form, though their texts differ."""
    alike: defaultdict[Hashable, list[CheckedStatement]] = defaultdict(list)
    for statement in program.statements:
        if _is_about_single_events(statement):
            alike[_frame(statement)].append(statement)
    candidates = tuple(statement for statements in alike.values() if len(statements) > 1 for statement in statements)
    if not candidates:
        return
    from foretell.check.automata.equivalence_groups import equivalent_groups  # loads Z3

    for group in equivalent_groups(replace(program, statements=candidates), deadline):
        first, *others = sorted(group, key=_position)
        for statement in others:
            if _frame(statement) == _frame(first) and statement_key(statement) != statement_key(first):
                yield Finding(
                    "equivalent-statements",
                    statement.name,
                    f"'{statement.name}' notifies at the same events as '{first.name}', line "
                    f"{place_of(first.tree.name).line}",
                    place_of(statement.tree.name),
                    f"delete it, and read the results of '{first.name}'",
                )


def _frame(statement: CheckedStatement) -> Hashable:
    """The input, the window and the form of the notifications, which equivalent statements have in common."""
    own = statement.tree
    read = frozenset(map(str, own.streams)), frozenset(map(str, own.per))
    if isinstance(own, tree.Correlator):
        return read
    assert isinstance(statement, CheckedSubscription)
    steps = () if own.returns else statement.positive
    return read, statement.within, own.table, steps, tree_key((own.returns, own.forecast, own.losing), {})


#: References that need more than one event: automata do not tell such conditions apart.
_OTHER_EVENTS = (
    tree.Previous,
    tree.BoundEvent,
    tree.FirstOf,
    tree.LastOf,
    tree.Aggregate,
    tree.Elapsed,
    tree.Variable,
    tree.Parameter,
)


def _is_about_single_events(statement: CheckedStatement) -> bool:
    own = statement.tree
    if isinstance(own, tree.Subscription) and (own.having is not None or own.losing is not None):
        return False
    nodes = (node for part in (*own.definitions, *_patterns(own)) for node in part.walk())
    return not any(isinstance(node, _OTHER_EVENTS) for node in nodes)


def _patterns(own: tree.Subscription | tree.Correlator) -> tuple[tree.Node, ...]:
    return (own.pattern,) if isinstance(own, tree.Subscription) else ()


def _position(statement: CheckedStatement) -> tuple[int, int]:
    place = place_of(statement.tree.name)
    return place.line, place.column


def indistinct_steps(statement: CheckedStatement) -> Iterator[Finding]:
    """Parts of `&` and `|`, or of a correlator, that can be exchanged without changing the statement."""
    if isinstance(statement, CheckedCorrelator):
        yield from _equal_parts(statement)
        return
    for node in statement.pattern.walk():
        if isinstance(node, tree.Conjunction) and statement.tree.after.policy is tree.Policy.HOLD:
            for left, right in _exchangeable(statement, node.sides):
                yield _indistinct(statement, left, right, "&", "each match is reported again with the two exchanged")
        elif isinstance(node, tree.Alternation):
            for left, right in _exchangeable(statement, node.branches):
                yield _indistinct(statement, left, right, "|", "one of the branches is enough")


def _exchangeable(
    subscription: CheckedSubscription, sides: Sequence[tree.Pattern]
) -> Iterator[tuple[tree.Pattern, tree.Pattern]]:
    """Neighbours among the sides with equal shapes, whose exchange leaves the subscription as it is."""
    by_shape: dict[Hashable, tree.Pattern] = {}
    own: Names = {name: name for name in subscription.steps}
    key: Hashable = None
    for side in sides:
        steps = _steps(side)
        shape = _shape(subscription, side, steps)
        other = by_shape.get(shape)
        by_shape[shape] = side
        if other is None:
            continue
        key = subscription_key(subscription, own) if key is None else key
        exchanged = dict(zip(steps + _steps(other), _steps(other) + steps, strict=True))
        if subscription_key(subscription, {**own, **exchanged}) == key:
            yield other, side


def _shape(subscription: CheckedSubscription, side: tree.Pattern, steps: list[str]) -> Hashable:
    numbers: Names = {name: number for number, name in enumerate(steps)}
    conditions = [
        (
            conditions_key(subscription.steps[name].conditions, numbers),
            tree_key(subscription.steps[name].binders, numbers),
        )
        for name in steps
    ]
    return tree_key(side, numbers), tuple(conditions)


def _steps(pattern: tree.Pattern) -> list[str]:
    return [str(node.name) for node in pattern.walk() if isinstance(node, tree.Step)]


def _indistinct(
    subscription: CheckedSubscription, left: tree.Pattern, right: tree.Pattern, operator: str, consequence: str
) -> Finding:
    names = [" and ".join(f"'{name}'" for name in _steps(part)) for part in (left, right)]
    hint = {
        "&": "write them one after the other with `;`, or tell them apart by a condition",
        "|": "delete one, or tell them apart by a condition",
    }
    message = f"nothing distinguishes {names[1]} from {names[0]}: {consequence}"
    return Finding("indistinguishable-steps", subscription.name, message, right.place, hint[operator])


def _equal_parts(correlator: CheckedCorrelator) -> Iterator[Finding]:
    conditions = {name: conditions_key(c, {}) for name, c in correlator.conditions.items()}
    for node in correlator.tree.expression.walk():
        if not isinstance(node, tree.Accumulate | tree.Select):
            continue
        seen: dict[Hashable, tree.Correlation] = {}
        for part in node.parts:
            first = seen.setdefault(tree_key(part, conditions), part)
            if first is not part:
                yield Finding(
                    "indistinguishable-steps",
                    correlator.name,
                    f"this part is the same as an earlier one, at {_text(first.place)}: both end at the same event",
                    part.place,
                    "delete it, or tell them apart by a condition",
                )


def _text(place: Place) -> str:
    return f"{place.line}:{place.column}"
