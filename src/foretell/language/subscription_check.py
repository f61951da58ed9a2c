"""The checks of a subscription, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakValueDictionary

from foretell.errors import refuse, suggestion
from foretell.events.types import Schema, Type
from foretell.language import pattern_shape, tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.definitions import definitions_of
from foretell.language.loss_rates import loss_rates
from foretell.language.pattern_shape import StepOrder, StepShape
from foretell.language.stream_schemas import merged_schema, positive_duration, scope_of
from foretell.language.tree import place_of
from foretell.language.type_check import Scope, check_condition, type_of

Columns = Mapping[str, Type]


def check_subscription(
    subscription: tree.Subscription,
    streams: Mapping[str, Schema],
    columns: Columns,
    losses: Mapping[str, tuple[tree.Loss, ...]],
) -> CheckedSubscription:
    """Checks a subscription. `columns` are those of the FOR EACH table, `losses` the LOSS items of each stream.

    While a result is in use, checking the same tree against the same data gives it again.
    """
    data = _CheckedAgainst(
        tuple(streams[name].content for name in subscription.streams),
        tuple(columns.items()),
        tuple(losses.get(name, ()) for name in subscription.streams),
    )
    # A checked subscription holds its tree, so that no other tree has that number while the entry is there.
    known = _known.get((id(subscription), data))
    if known is None:
        known = _known[id(subscription), data] = _checked(subscription, streams, columns, losses)
    return known


class _CheckedAgainst(NamedTuple):
    """All that the check of a tree depends on."""

    schemas: tuple[tuple[object, ...], ...]
    columns: tuple[tuple[str, Type], ...]
    losses: tuple[tuple[tree.Loss, ...], ...]


#: What engines, explain and snapshots of the same statements share.
_known: WeakValueDictionary[tuple[int, _CheckedAgainst], CheckedSubscription] = WeakValueDictionary()


def _checked(
    subscription: tree.Subscription,
    streams: Mapping[str, Schema],
    columns: Columns,
    losses: Mapping[str, tuple[tree.Loss, ...]],
) -> CheckedSubscription:
    checked = _SubscriptionChecker(subscription, streams, columns, losses).checked()
    sources = [streams[name] for name in subscription.streams]
    ids = {schema.attributes.get(schema.id, Type.UNKNOWN) for schema in sources if schema.id is not None}
    return replace(
        checked,
        event_names=Type.INT if ids <= {Type.INT} else Type.STRING,
        row_ids=columns.get("id", Type.STRING) if subscription.table is not None or checked.uncertain else Type.NULL,
    )


class _SubscriptionChecker:
    """The checks of one subscription, in the order of its clauses."""

    def __init__(
        self,
        subscription: tree.Subscription,
        streams: Mapping[str, Schema],
        columns: Columns,
        losses: Mapping[str, tuple[tree.Loss, ...]],
    ) -> None:
        self.tree = subscription
        self.schema = merged_schema(streams, subscription)
        self.losses = losses
        self.scope = scope_of(self.schema, subscription)
        if subscription.table is not None:
            self.scope = replace(self.scope, parameters=columns)
        self.shapes: dict[str, StepShape] = {}
        self.positive: list[str] = []
        self.binding: dict[str, set[str]] = {}

    def checked(self) -> CheckedSubscription:
        subscription, time = self.tree, self.schema.time_type
        self._collect_steps()
        within = positive_duration(subscription.within, time, "WITHIN")
        known_late = self._check_pattern()
        defined = dict(definitions_of(subscription.definitions, self.shapes, "pattern"))
        variables = self._variables(defined)
        self.scope = replace(self.scope, variables=variables)
        steps = {name: self._step(shape, defined.get(name)) for name, shape in self.shapes.items()}
        self._check_operators(subscription.pattern, ())
        outside = replace(self.scope, has_event=False, has_previous=False)
        if subscription.having is not None:
            check_condition(subscription.having, outside)
        returns = self._returns(outside, variables)
        pattern = pattern_shape.settle(subscription.pattern)
        self._check_after(pattern)
        horizon = None
        if subscription.forecast is not None:
            horizon = positive_duration(subscription.forecast.duration, time, "FORECAST WITHIN")
        return CheckedSubscription(
            tree=subscription,
            pattern=pattern,
            steps=steps,
            variables=variables,
            attributes=self.scope.attributes,
            time=time,
            simultaneous=self.schema.simultaneous,
            within=within,
            loss=loss_rates(subscription, steps, self.losses),
            returns=returns,
            known_late=known_late,
            horizon=horizon,
        )

    def _collect_steps(self) -> None:
        for step in pattern_shape.step_shapes(self.tree.pattern):
            if step.name in self.shapes:
                hint = "give each use its own name and define them together: DEFINE a1, a2 AS ..."
                refuse("step-twice", f"the step '{step.name}' is used twice", step.place, hint)
            if step.name.lower() == "prev":
                message = "'prev' cannot name a step: it is the event bound just before"
                refuse("reserved", message, step.place, "give the step another name")
            self.shapes[step.name] = step
            if not step.negated:
                self.positive.append(step.name)
            if (step.chosen or step.numbered) and step.repeated:
                subject = f"{step.chosen} {step.name}" if step.chosen else f"{step.name}[i]"
                hint = f"leave out {step.chosen or '[i]'} or the repetition"
                refuse("selected-repeated", f"'{subject}' cannot be repeated", step.place, hint)
        negated = {n: f"'{n}' is negated: it has no event" for n, s in self.shapes.items() if s.negated}
        self.scope = replace(self.scope, steps=frozenset(self.positive), hidden=negated)

    def _check_pattern(self) -> dict[str, frozenset[str]]:
        """Checks negations and LAST against WITHIN; returns the steps whose choice may be known late (`known_late`)."""
        pattern = self.tree.pattern
        pattern_shape.check_edges(pattern)
        edges, choices = pattern_shape.edge_negations(pattern), list(pattern_shape.open_choices(pattern))
        if self.tree.within is None:
            for negation in edges:
                length = "10" if self.schema.time_type.numeric else "10 min"
                name = negation.step.name
                hint = f"add how long no '{name}' may come: WITHIN {length}"
                refuse("needs-within", f"'!{name}' first or last in a pattern needs WITHIN", negation.place, hint)
            for choice in choices:
                hint = "add WITHIN, or a step that must follow: otherwise the last one is never known"
                refuse("needs-within", f"'LAST {choice.step.name}' needs WITHIN here", choice.place, hint)
        if len(self.positive) == 1 and choices:
            message = f"'LAST {choices[0].step.name}' is the only step: its last event is never known"
            refuse("never-known", message, choices[0].place, "add another step, or leave out LAST")
        return {str(choice.step.name): self._order.followers(str(choice.step.name)) for choice in choices}

    def _variables(self, defined: Mapping[str, tree.Expression]) -> dict[str, Type]:
        """The variables that positive steps bind, with their types."""
        variables: dict[str, Type] = {}
        for name in self.positive:
            scope = replace(self.scope, own=name, variables={})
            for condition in self._conditions(name, defined.get(name)):
                for variable, value in binders(condition, name):
                    kind = type_of(value, scope)
                    known = variables.get(variable.name, kind)
                    if not _alike(known, kind):
                        message = f"${variable.name} is {known.value} elsewhere and {kind.value} here"
                        refuse("variable-types", message, variable.place, "bind it to values of one type")
                    variables[variable.name] = Type.FLOAT if Type.FLOAT in (known, kind) else known
                    self.binding.setdefault(variable.name, set()).add(name)
        return variables

    def _conditions(self, name: str, defined: tree.Expression | None) -> tuple[tree.Expression, ...]:
        return (*(() if defined is None else (defined,)), *self.shapes[name].conditions)

    def _bound(self, variable: str, value: tree.Expression, scope: Scope) -> tree.Expression:
        """The value a step binds: an INT becomes a FLOAT where another step binds a FLOAT (decision 0002, item 37)."""
        floats = (self.scope.variables or {}).get(variable) is Type.FLOAT and type_of(value, scope) is Type.INT
        return tree.Binary("*", value, tree.Literal(1.0)) if floats else value

    def _step(self, step: StepShape, defined: tree.Expression | None) -> CheckedStep:
        scope = replace(self.scope, own=step.name)
        for condition in self._conditions(step.name, defined):
            check_condition(condition, scope)
        parts = [c for whole in self._conditions(step.name, defined) for c in tree.conjuncts(whole)]
        if step.numbered and defined is not None:
            self._check_counted(step, defined)
        if step.negated:
            return CheckedStep(step, tuple(parts), ())
        bound = [(v.name, self._bound(v.name, value, scope)) for c in parts for v, value in binders(c, step.name)]
        conditions = tuple(c for c in parts if not list(binders(c, step.name)))
        counted = () if defined is None else tuple(tree.conjuncts(defined))
        return CheckedStep(step, conditions, tuple(bound), counted if step.numbered else ())

    @cached_property
    def _order(self) -> StepOrder:
        return StepOrder(self.tree.pattern)

    def _check_counted(self, step: StepShape, defined: tree.Expression) -> None:
        """a[i] counts as the events come, so it cannot wait for a step that is always bound later."""
        for node in defined.walk():
            named = _step_named(node)
            if named is not None and self._order.follows(named, step.name):
                message = f"the DEFINE of '{step.name}[i]' cannot name the later step '{named}'"
                refuse("later-step", message, node.place, f"put the condition behind the step: {step.name}[i] @(...)")

    def _check_operators(self, pattern: tree.Pattern, before: tuple[str, ...]) -> tuple[str, ...]:
        """Checks the conditions in ;{θ}, which see only steps bound before; returns those bound after the pattern."""
        match pattern:
            case tree.Sequence(parts=parts):
                for part in parts:
                    if isinstance(part.operator, tree.FirstWhere):
                        self._check_where(part.operator, before)
                    before = self._check_operators(part.pattern, before)
                return before
            case tree.Repeat(body=body, under=under):
                after = self._check_operators(body, before)
                if isinstance(under, tree.FirstWhere):
                    self._check_where(under, after)
                return after
            case tree.Conditioned(pattern=inner):
                return self._check_operators(inner, before)
            case tree.Conjunction(sides=children) | tree.Alternation(branches=children):
                bound = dict.fromkeys(before)
                for child in children:
                    bound |= dict.fromkeys(self._check_operators(child, before))
                return tuple(bound)
            case tree.Step(name=name):
                return (*before, name)
            case tree.Numbered(step=step) | tree.Chosen(step=step):
                return (*before, step.name)
        return before

    def _check_where(self, where: tree.FirstWhere, before: tuple[str, ...]) -> None:
        scope, bound = self.scope, frozenset(before)
        later = {n: f"'{n}' is bound after this condition is evaluated" for n in scope.steps - bound}
        variables = {v: kind for v, kind in (scope.variables or {}).items() if self.binding[v] & bound}
        for node in where.condition.walk():
            if isinstance(node, tree.Variable) and node.name in (scope.variables or {}) and node.name not in variables:
                message = f"${node.name} is bound after this condition is evaluated"
                refuse("unbound-variable", message, node.place, "name only variables that an earlier step binds")
        check_condition(
            where.condition,
            replace(scope, steps=bound, hidden={**scope.hidden, **later}, own=None, variables=variables),
        )

    def _returns(self, scope: Scope, variables: Mapping[str, Type]) -> dict[str, Type]:
        if not self.tree.returns:
            return dict(variables)
        returns: dict[str, Type] = {}
        for returned in self.tree.returns:
            if returned.name in returns:
                hint = "give each column its own name"
                refuse("defined-twice", f"RETURN names '{returned.name}' twice", returned.place, hint)
            kind = type_of(returned.expression, scope)
            # A duration has no attribute type of its own; it is handed out in seconds.
            returns[str(returned.name)] = Type.FLOAT if kind is Type.DURATION else kind
        return returns

    def _check_after(self, pattern: tree.Pattern) -> None:
        if self.tree.after.policy is tree.Policy.LONGEST:
            self._check_longest(pattern)
        step = self.tree.after.step
        if step is not None and step not in self.positive:
            message = f"AFTER MATCH names '{step}', which is not a step that binds an event"
            refuse("unknown-step", message, place_of(step), suggestion(step, self.positive))

    def _check_longest(self, pattern: tree.Pattern) -> None:
        repetition = next(pattern_shape.open_repetitions(pattern), None)
        if self.tree.within is None and repetition is not None:
            body = repetition.body
            subject = f"'{body.name}'" if isinstance(body, tree.Step) else "a group"
            under = ";{θ}" if isinstance(repetition.under, tree.FirstWhere) else ";"
            message = f"{subject} repeats last under '{under}', so AFTER MATCH LONGEST needs WITHIN"
            length = "10" if self.schema.time_type.numeric else "10 min"
            hint = f"add WITHIN {length}: otherwise one more event may come at any time, and no match is the longest"
            refuse("needs-within", message, repetition.place, hint)
        if self.tree.forecast is not None:
            message = "FORECAST cannot be used with AFTER MATCH LONGEST: a match is known only after its end"
            hint = "use AFTER MATCH SKIP PAST LAST, or write the FORECAST in a subscription of its own"
            refuse("longest-forecast", message, self.tree.forecast.place, hint)
        if self.tree.losing is not None:
            message = "LOSING cannot be used with AFTER MATCH LONGEST: an event that was lost has no length"
            refuse("longest-losing", message, self.tree.losing.place, "use AFTER MATCH SKIP PAST LAST")


def _alike(left: Type, right: Type) -> bool:
    return left is right or (left.numeric and right.numeric) or bool({Type.UNKNOWN, Type.NULL} & {left, right})


def _step_named(node: tree.Node) -> str | None:
    match node:
        case tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step) | tree.Aggregate(step=step):
            return step
    return None


def binders(condition: tree.Expression, own: str) -> Iterator[tuple[tree.Variable, tree.Expression]]:
    """The variables that a condition binds, with their values.

    `$v = value` or `value = $v` binds the variable where it is a condition of its own, joined by AND if at all, and the
    value is one of the event itself. Any other use compares with the variable.
    """
    match condition:
        case tree.Binary(operator="AND", left=left, right=right):
            yield from binders(left, own)
            yield from binders(right, own)
        case tree.Binary(operator="=", left=tree.Variable() as variable, right=value) if _is_of_event(value, own):
            yield variable, value
        case tree.Binary(operator="=", left=value, right=tree.Variable() as variable) if _is_of_event(value, own):
            yield variable, value


def _is_of_event(value: tree.Expression, own: str) -> bool:
    """Whether a value depends on the event being tried for the step, and on nothing else."""
    references = [node for node in value.walk() if isinstance(node, tree.EventReference)]
    others = tree.Variable, tree.Aggregate, tree.Elapsed, tree.Previous, tree.FirstOf, tree.LastOf
    if not references or any(isinstance(node, others) for node in value.walk()):
        return False
    return all(isinstance(r, tree.This) or (isinstance(r, tree.BoundEvent) and r.step == own) for r in references)
