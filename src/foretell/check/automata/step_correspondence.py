"""Patterns that are equal up to the names of their steps and variables: their conditions can be compared in pairs.

Where each condition of the right follows from those of the left, every match of the left is one of the right. That
holds whatever the conditions name: other steps, variables, times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from foretell.check.automata.event_conditions import about_one_event, as_tried
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.records import record

#: Whether a condition follows from another.
Implication = Callable[[tree.Expression, tree.Expression], bool]


#: The first character of a variable of the right that no variable of the left corresponds to.
_UNKNOWN = "\0"


@record
class Renaming:
    """The steps and the variables of the right by the names of the left. Two variables of the right may have the name
    of one."""

    steps: Mapping[str, str]
    variables: Mapping[str, str]

    def renamed(self, expression: tree.Expression) -> tree.Expression:
        """An expression of the right in the names of the left."""
        match expression:
            case tree.Variable(name=name):
                return tree.Variable(self.variables.get(name, f"{_UNKNOWN}{name}"))
            case tree.Aggregate(step=step):
                return replace(expression, step=self.steps.get(step, step))
            case tree.Attribute(event=event) | tree.StreamOf(event=event) | tree.TimeOf(event=event):
                return replace(expression, event=self._event(event))
        return tree.map_children(expression, self.renamed)

    def _event(self, event: tree.EventReference) -> tree.EventReference:
        match event:
            case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step):
                return replace(event, step=self.steps.get(step, step))
        return event


def renaming(left: CheckedSubscription, right: CheckedSubscription) -> Renaming | None:
    """The renaming that makes the pattern of the right that of the left; None where there is none."""
    pairs = list(_nodes(left.pattern, right.pattern))
    if not all(pairs):
        return None
    steps = {other: name for pair in pairs if pair is not None for name, other in pair.items()}
    variables: dict[str, str] = {}
    for other, name in steps.items():
        if not _same_shape(left.steps[name], right.steps[other]):
            return None
        values = {value: variable for variable, value in left.steps[name].binders}
        for variable, value in right.steps[other].binders:
            renamed = Renaming(steps, {}).renamed(value)
            if renamed in values:
                variables.setdefault(variable, values[renamed])
    return Renaming(steps, variables)


def _same_shape(left: CheckedStep, right: CheckedStep) -> bool:
    ours, theirs = left.shape, right.shape
    return (ours.negated, ours.chosen, ours.numbered) == (theirs.negated, theirs.chosen, theirs.numbered)


def _nodes(left: tree.Node, right: tree.Node) -> Iterator[dict[str, str] | None]:
    """The pairs of steps of two patterns in the order of the text; None where they differ."""
    todo: list[tuple[tree.Node, tree.Node]] = [(left, right)]
    while todo:
        ours, theirs = todo.pop()
        if isinstance(ours, tree.Step) and isinstance(theirs, tree.Step):
            yield {str(ours.name): str(theirs.name)}
            continue
        if isinstance(ours, tree.Expression) and isinstance(theirs, tree.Expression):
            continue  # compared when the steps are known
        below, others = list(ours.children()), list(theirs.children())
        if type(ours) is not type(theirs) or len(below) != len(others) or _plain(ours) != _plain(theirs):
            yield None
            return
        todo += zip(below, others, strict=True)


def _plain(node: tree.Node) -> tuple[object, ...]:
    match node:
        case tree.Repeat(low=low, high=high):
            return low, high
        case tree.Numbered(index=index):
            return (index,)
        case tree.Chosen(which=which):
            return (which,)
    return ()


class StructuralContainment:
    """Whether each match of the left is one of the right, by the conditions of steps that correspond."""

    def __init__(self, left: CheckedSubscription, right: CheckedSubscription, implies: Implication) -> None:
        self._left, self._right, self._implies = left, right, implies
        self._renaming = renaming(left, right)

    def holds(self) -> bool:
        if self._renaming is None:
            return False
        if self._are_equal():
            return True
        return self._may_differ() and all(self._follows(*pair) for pair in self._steps())

    def _steps(self) -> Iterator[tuple[CheckedStep, CheckedStep]]:
        assert self._renaming is not None
        for other, name in self._renaming.steps.items():
            yield self._left.steps[name], self._right.steps[other]

    def _may_differ(self) -> bool:
        """Whether fewer matches of the left are fewer notifications, and nothing else: matches that FIRST, LAST and
        AFTER MATCH remove depend on others, and so does a count."""
        left, right = self._left, self._right
        removing = any(step.shape.chosen is not None or step.shape.numbered for step in right.steps.values())
        edges = any(isinstance(n, tree.Sequence) and (n.absent or n.parts[0].absent) for n in right.pattern.walk())
        having = right.tree.having is None or self._same_having()
        held = right.tree.after.policy is tree.Policy.HOLD
        narrow = right.within is None or (left.within is not None and left.within <= right.within)
        silent = isinstance(right.pattern, tree.Silence)
        if edges or silent:
            narrow = left.within == right.within
        return not removing and having and held and narrow and not silent and self._same_operators()

    def _are_equal(self) -> bool:
        """Whether the statements have the same matches and take the same of them."""
        left, right = self._left, self._right
        found = self._renaming
        assert found is not None
        after = right.tree.after
        step = None if after.step is None else found.steps.get(str(after.step))
        return (
            left.within == right.within
            and len(set(found.variables.values())) == len(found.variables)
            and (after.policy, step) == (left.tree.after.policy, left.tree.after.step)
            and self._same_having()
            and self._same_operators()
            and all(self._same_step(*pair) for pair in self._steps())
        )

    def _same_step(self, left: CheckedStep, right: CheckedStep) -> bool:
        return (
            set(self._renamed(right.counted)) == set(left.counted)
            and self._binders(right) == set(left.binders)
            and self._all_follow(left.conditions, self._renamed(right.conditions), left.name)
            and self._all_follow(self._renamed(right.conditions), left.conditions, left.name)
        )

    def _renamed(self, conditions: Iterable[tree.Expression]) -> tuple[tree.Expression, ...]:
        found = self._renaming
        assert found is not None
        return tuple(map(found.renamed, conditions))

    def _binders(self, step: CheckedStep) -> set[tuple[str, tree.Expression]]:
        """Those of a step of the right."""
        found = self._renaming
        assert found is not None
        names = ((found.variables.get(name, f"{_UNKNOWN}{name}"), value) for name, value in step.binders)
        return {(name, found.renamed(value)) for name, value in names}

    def _follows(self, left: CheckedStep, right: CheckedStep) -> bool:
        """Whether the conditions of the right follow from those of the left; of a negated step the other way round."""
        theirs = self._renamed(right.conditions)
        if left.shape.negated:
            return self._all_follow(theirs, left.conditions, left.name)
        return self._binders(right) <= set(left.binders) and self._all_follow(left.conditions, theirs, left.name)

    def _all_follow(self, conditions: Sequence[tree.Expression], wanted: Iterable[tree.Expression], own: str) -> bool:
        return all(self._from(conditions, condition, own) for condition in wanted)

    def _from(self, conditions: Sequence[tree.Expression], wanted: tree.Expression, own: str) -> bool:
        if wanted in conditions:
            return True
        bare = about_one_event(wanted, own)
        if _names_unknown(wanted):
            return False
        tried = [as_tried(condition, own) for condition in conditions if not _names_unknown(condition)]
        if bare is not None:
            tried = [condition for condition in tried if about_one_event(condition) is not None]
        return self._implies(_joined(tried), as_tried(wanted, own))

    def _same_having(self) -> bool:
        having = self._right.tree.having
        return self._left.tree.having == (None if having is None else self._renamed([having])[0])

    def _same_operators(self) -> bool:
        ours, theirs = (
            tuple(n.condition for n in s.pattern.walk() if isinstance(n, tree.FirstWhere))
            for s in (self._left, self._right)
        )
        return ours == self._renamed(theirs)


def _joined(conditions: list[tree.Expression]) -> tree.Expression:
    whole: tree.Expression = tree.Literal(True)
    for number, condition in enumerate(conditions):
        whole = tree.Binary("AND", whole, condition) if number else condition
    return whole


def _names_unknown(condition: tree.Expression) -> bool:
    return any(isinstance(node, tree.Variable) and node.name.startswith(_UNKNOWN) for node in condition.walk())


def plain_statement(subscription: CheckedSubscription) -> tuple[object, ...]:
    """All that decides when a subscription notifies, with its steps and variables numbered in the order of the text."""
    steps = {name: f"s{number}" for number, name in enumerate(subscription.steps)}
    bound = dict.fromkeys(name for step in subscription.steps.values() for name, _ in step.binders)
    found = Renaming(steps, {name: f"v{number}" for number, name in enumerate(bound)})
    conditions = tuple(
        (
            frozenset(map(found.renamed, step.conditions)),
            frozenset((found.variables[name], found.renamed(value)) for name, value in step.binders),
            frozenset(map(found.renamed, step.counted)),
        )
        for step in subscription.steps.values()
    )
    clauses = subscription.tree
    having = None if clauses.having is None else found.renamed(clauses.having)
    after = clauses.after.policy, None if clauses.after.step is None else steps[str(clauses.after.step)]
    losing = None if clauses.losing is None else str(clauses.losing)
    others = clauses.table, clauses.forecast, losing, subscription.within
    return _with_steps(subscription.pattern, found), conditions, having, after, others


def _with_steps(node: tree.Node, names: Renaming) -> object:
    """A pattern as nested tuples, with other names for its steps."""
    if isinstance(node, tree.Step):
        return names.steps[str(node.name)]
    below = tuple(
        names.renamed(child) if isinstance(child, tree.Expression) else _with_steps(child, names)
        for child in node.children()
    )
    return type(node).__name__, _plain(node), below
