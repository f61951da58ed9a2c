"""Names and types of a whole program: everything that can be wrong is found here, before the first event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NoReturn

from foretell.errors import LanguageError, Place, suggestion
from foretell.events.types import Schema, Type
from foretell.language import shape, tree
from foretell.language.checked import Checked, CheckedCorrelator, CheckedStatement, CheckedStep, CheckedSubscription
from foretell.language.shape import StepShape
from foretell.language.tree import place_of
from foretell.language.typing import Scope, check_condition, type_of

TIME_TYPES = (Type.TIMESTAMP, Type.INT, Type.FLOAT, Type.UNKNOWN)
Columns = Mapping[str, Type]


def check(
    program: tree.Program,
    schemas: Mapping[str, Schema] | None = None,
    tables: Mapping[str, Columns] | None = None,
) -> Checked:
    """The program with names and types resolved.

    `schemas` and `tables` are what is known of the data. Without them a stream that the text does not declare is
    open: its attributes are taken on trust and checked again when the data is there.
    """
    _check_unique(program)
    declared = {s.name: declared_schema(s) for s in program.statements if isinstance(s, tree.Stream)}
    streams = {**declared, **(schemas or {})}
    made = {s.name: s for s in program.statements if not isinstance(s, tree.Stream)}
    for name in made:
        if name in (schemas or {}):
            message = f"'{name}' is the name of a statement and of an input"
            _refuse("stream-and-statement", message, place_of(name), "give the statement another name")
    ranks = _ranks(program)
    losses = {s.name: s.losses for s in program.statements if isinstance(s, tree.Stream)}
    checked: list[CheckedStatement] = []
    for statement in _in_order(made):
        for name in statement.streams:
            if name not in streams:
                streams[name] = _unknown_stream(name, [*streams, *made], complete=schemas is not None)
        if isinstance(statement, tree.Subscription):
            columns = (tables or {}).get(statement.table or "", {})
            subscription = _Subscription(statement, streams, columns, losses).checked()
            checked.append(subscription)
            streams[statement.name] = _result(subscription, streams)
        elif isinstance(statement, tree.Correlator):
            checked.append(_check_correlator(statement, streams))
            first = streams[statement.streams[0]]
            streams[statement.name] = Schema(
                {"token": Type.STRING}, None, simultaneous=first.simultaneous, timing=first.time_type
            )
    return Checked(streams, tuple(checked), ranks)


def _refuse(code: str, message: str, place: Place, hint: str = "") -> NoReturn:
    raise LanguageError(code, message, place=place, hint=hint)


def _check_unique(program: tree.Program) -> None:
    seen: dict[str, Place] = {}
    for statement in program.statements:
        if statement.name in seen:
            _defined_twice(f"'{statement.name}'", place_of(statement.name), seen[statement.name])
        seen[statement.name] = place_of(statement.name)


def _defined_twice(what: str, place: Place, first: Place) -> NoReturn:
    _refuse("defined-twice", f"{what} is defined twice", place, f"the first one is at {first.line}:{first.column}")


def _ranks(program: tree.Program) -> dict[str, int]:
    """Streams by their first mention in the text: what decides between streams at the same instant."""
    names: dict[str, int] = {}
    for statement in program.statements:
        for name in (statement.name, *_sources(statement)):
            names.setdefault(name, len(names))
    return names


def _sources(statement: tree.Statement) -> tuple[str, ...]:
    return statement.streams if isinstance(statement, tree.Subscription | tree.Correlator) else ()


def _in_order(made: Mapping[str, tree.Statement]) -> Iterator[tree.Subscription | tree.Correlator]:
    """Each statement after those it reads; a cycle is an error."""
    done: set[str] = set()
    for first in made:
        # The statements being visited, each with the sources still to look at; one that comes up again closes a ring.
        path = {} if first in done else {first: iter(_sources(made[first]))}
        while path:
            name, sources = next(reversed(path.items()))
            source = next(sources, None)
            if source is None:
                path.popitem()
                done.add(name)
                statement = made[name]
                assert isinstance(statement, tree.Subscription | tree.Correlator)
                yield statement
            elif source in path:
                _cycle([*path], source)
            elif source in made and source not in done:
                path[source] = iter(_sources(made[source]))


def _cycle(path: list[str], source: str) -> NoReturn:
    ring = [*path[path.index(source) :], source]
    shown = " reads ".join(ring if len(ring) <= 6 else [*ring[:3], "…", *ring[-2:]])
    hint = "give the statement another name than the stream it reads" if len(ring) == 2 else ""
    _refuse("cycle", f"streams in a circle: {shown}", place_of(source), hint)


def _unknown_stream(name: str, known: Iterable[str], *, complete: bool) -> Schema:
    if complete:
        hint = suggestion(name, known) or f"declare it with STREAM, or give its events with --input {name}=PATH"
        _refuse("unknown-stream", f"unknown stream '{name}'", place_of(name), hint)
    return Schema({}, None, open=True)


# ── streams ──


def declared_schema(stream: tree.Stream) -> Schema:
    """The schema a STREAM statement declares; columns it names without a type are UNKNOWN until the data is seen."""
    attributes: dict[str, Type] = {}
    places: dict[str, Place] = {}
    for declared in stream.attributes:
        if declared.name in attributes:
            _defined_twice(f"the attribute '{declared.name}'", declared.place, places[declared.name])
        attributes[declared.name], places[declared.name] = declared.type, declared.place
    for column in (stream.time, stream.id, stream.order):
        if column is not None:
            attributes.setdefault(column, Type.UNKNOWN)
    time = attributes[stream.time]
    if time not in TIME_TYPES:
        _refuse(
            "not-a-time", f"time is a TIMESTAMP or a number, '{stream.time}' is {time.value}", place_of(stream.time)
        )
    scope = Scope(attributes, (stream.name,), time, has_previous=False, has_match=False, open=not stream.attributes)
    for loss in stream.losses:
        if loss.condition is not None:
            check_condition(loss.condition, scope)
    lateness = _length(stream.lateness, time, "LATE BY") or 0
    return Schema(
        attributes,
        stream.time,
        stream.id,
        stream.order,
        stream.simultaneous,
        lateness,
        open=not stream.attributes,
    )


def _length(length: tree.Span | tree.Literal | None, time: Type, where: str) -> int | float | None:
    """A length of time in the unit of the stream's time."""
    if length is None:
        return None
    if isinstance(length, tree.Span):
        if time.numeric:
            hint = "write a plain number, in the unit of the times"
            _refuse("number-wanted", f"{where} has a unit, but time is a number here", length.place, hint)
        return length.micros
    assert isinstance(length.value, int | float)
    if time is Type.TIMESTAMP:
        _refuse(
            "unit-wanted", f"{where} needs a unit", length.place, f"write {length.value} s, {length.value} min, ..."
        )
    return length.value


def _merged(streams: Mapping[str, Schema], statement: tree.Subscription | tree.Correlator) -> Schema:
    """The attributes of all streams of a FROM; they must agree on types, on time and on ties."""
    first = streams[statement.streams[0]]
    attributes: dict[str, Type] = {}
    for name in statement.streams:
        schema = streams[name]
        if {schema.time_type.numeric, first.time_type.numeric} == {True, False} and Type.UNKNOWN not in (
            schema.time_type,
            first.time_type,
        ):
            message = f"the time of '{name}' is {schema.time_type.value}, that of '{statement.streams[0]}' is not"
            _refuse("mixed-time", message, place_of(name), "streams of one FROM must agree on their time")
        if schema.simultaneous != first.simultaneous:
            hint = "say TIES SIMULTANEOUS of all streams of one FROM, or of none"
            _refuse("mixed-ties", f"'{name}' and '{statement.streams[0]}' differ in TIES", place_of(name), hint)
        for attribute, kind in schema.attributes.items():
            attributes[attribute] = _agreed(attribute, attributes.get(attribute, kind), kind, name)
    times = [streams[n].time_type for n in statement.streams]
    time = next((t for t in times if t is not Type.UNKNOWN), Type.UNKNOWN)
    if Type.FLOAT in times:
        time = Type.FLOAT
    for attribute in statement.per:
        for name in statement.streams:
            if attribute not in streams[name].attributes and not streams[name].open:
                hint = suggestion(attribute, streams[name].attributes)
                place = place_of(attribute)
                _refuse("unknown-attribute", f"unknown attribute '{attribute}' of stream '{name}'", place, hint)
    return Schema(
        attributes,
        None,
        simultaneous=first.simultaneous,
        open=any(streams[n].open for n in statement.streams),
        timing=time,
    )


def _agreed(attribute: str, one: Type, other: Type, stream: str) -> Type:
    if one is other or other is Type.UNKNOWN:
        return one
    if one is Type.UNKNOWN:
        return other
    if one.numeric and other.numeric:
        return Type.FLOAT
    message = f"'{attribute}' is {other.value} in '{stream}' and {one.value} in a stream before it"
    _refuse("mixed-types", message, place_of(stream), "streams of one FROM must agree on the attributes they share")


def _scope(schema: Schema, statement: tree.Subscription | tree.Correlator) -> Scope:
    return Scope(schema.attributes, statement.streams, schema.time_type, schema.open)


def _result(subscription: CheckedSubscription, streams: Mapping[str, Schema]) -> Schema:
    """What another statement sees of this one: the RETURN columns, without RETURN the variables."""
    first = streams[subscription.tree.streams[0]]
    return Schema(subscription.returns, None, simultaneous=first.simultaneous, timing=subscription.time)


# ── correlators ──


def _check_correlator(correlator: tree.Correlator, streams: Mapping[str, Schema]) -> CheckedCorrelator:
    schema = _merged(streams, correlator)
    scope = replace(_scope(schema, correlator), has_previous=False, has_match=False)
    used = {n.step for n in correlator.expression.walk() if isinstance(n, tree.On)}
    used |= {n.guard for n in correlator.expression.walk() if isinstance(n, tree.Mode)}
    conditions: dict[str, tuple[tree.Expression, ...]] = dict.fromkeys(used, ())
    for step, condition in _definitions(correlator.definitions, used, "expression"):
        check_condition(condition, scope)
        conditions[step] = (condition,)
    return CheckedCorrelator(correlator, conditions, schema.attributes, schema.time_type)


def _definitions(
    definitions: tuple[tree.Definition, ...], known: Iterable[str], where: str
) -> Iterator[tuple[str, tree.Expression]]:
    seen: dict[str, Place] = {}
    names = set(known)
    for definition in definitions:
        for step in definition.steps:
            if step not in names:
                hint = suggestion(step, names)
                _refuse("unused-definition", f"the {where} has no step '{step}'", place_of(step), hint)
            if step in seen:
                _defined_twice(f"the step '{step}'", place_of(step), seen[step])
            seen[step] = place_of(step)
            yield step, definition.condition


# ── subscriptions ──


class _Subscription:
    """The checks of one subscription, in the order of its clauses."""

    def __init__(
        self,
        subscription: tree.Subscription,
        streams: Mapping[str, Schema],
        columns: Columns,
        losses: Mapping[str, tuple[tree.Loss, ...]],
    ) -> None:
        self.tree = subscription
        self.schema = _merged(streams, subscription)
        self.stream_losses = [loss for name in subscription.streams for loss in losses.get(name, ())]
        self.scope = _scope(self.schema, subscription)
        if subscription.table is not None:
            self.scope = replace(self.scope, parameters=columns)
        self.shapes: dict[str, StepShape] = {}
        self.positive: list[str] = []

    def checked(self) -> CheckedSubscription:
        subscription, time = self.tree, self.schema.time_type
        self._collect_steps()
        within = _length(subscription.within, time, "WITHIN")
        if subscription.within is not None and within is not None and within <= 0:
            _refuse("not-positive", "WITHIN must be longer than nothing", subscription.within.place)
        known_late = self._check_pattern()
        defined = dict(_definitions(subscription.definitions, self.shapes, "pattern"))
        variables = self._variables(defined)
        self.scope = replace(self.scope, variables=variables)
        steps = {name: self._step(shape_, defined.get(name)) for name, shape_ in self.shapes.items()}
        self._check_operators(subscription.pattern, ())
        outside = replace(self.scope, has_event=False, has_previous=False)
        if subscription.having is not None:
            check_condition(subscription.having, outside)
        returns = self._returns(outside, variables)
        self._check_after()
        if subscription.forecast is not None:
            _length(subscription.forecast.duration, time, "FORECAST WITHIN")
        return CheckedSubscription(
            subscription,
            shape.settle(subscription.pattern),
            steps,
            variables,
            self.scope.attributes,
            time,
            self.schema.simultaneous,
            within,
            self._losses(steps),
            returns,
            known_late,
        )

    def _collect_steps(self) -> None:
        for step in shape.step_shapes(self.tree.pattern):
            if step.name in self.shapes:
                hint = "give each use its own name and define them together: DEFINE a1, a2 AS ..."
                _refuse("step-twice", f"the step '{step.name}' is used twice", step.place, hint)
            if step.name.lower() == "prev":
                message = "'prev' cannot name a step: it is the event bound just before"
                _refuse("reserved", message, step.place, "give the step another name")
            self.shapes[step.name] = step
            if not step.negated:
                self.positive.append(step.name)
            if (step.chosen or step.numbered) and step.repeated:
                what = f"{step.chosen} {step.name}" if step.chosen else f"{step.name}[i]"
                _refuse("selected-repeated", f"'{what}' cannot be repeated", step.place)
        negated = {n: f"'{n}' is negated: it has no event" for n, s in self.shapes.items() if s.negated}
        self.scope = replace(self.scope, steps=frozenset(self.positive), hidden=negated)

    def _check_pattern(self) -> frozenset[str]:
        """Edges and windows; the steps whose choice is known only when the window has passed."""
        pattern = self.tree.pattern
        shape.check_edges(pattern)
        edges, choices = shape.edge_negations(pattern), list(shape.open_choices(pattern))
        if self.tree.within is None:
            for negation in edges:
                length = "10" if self.schema.time_type.numeric else "10 min"
                hint = f"say how long nothing may come: WITHIN {length}"
                _refuse("needs-within", f"'!{negation.step.name}' here needs WITHIN", negation.place, hint)
            for choice in choices:
                hint = "without WITHIN the last one is never known"
                _refuse("needs-within", f"'LAST {choice.step.name}' here needs WITHIN", choice.place, hint)
        return frozenset(c.step.name for c in choices)

    def _variables(self, defined: Mapping[str, tree.Expression]) -> dict[str, Type]:
        """The variables that positive steps bind, with their types."""
        variables: dict[str, Type] = {}
        for name in self.positive:
            scope = replace(self.scope, own=name, variables={})
            for condition in self._conditions(name, defined.get(name)):
                for variable, value in binders(condition):
                    kind = type_of(value, scope)
                    known = variables.get(variable.name, kind)
                    if not _alike(known, kind):
                        message = f"${variable.name} is {known.value} elsewhere and {kind.value} here"
                        _refuse("variable-types", message, variable.place)
                    variables[variable.name] = known
        return variables

    def _conditions(self, name: str, defined: tree.Expression | None) -> tuple[tree.Expression, ...]:
        return (*(() if defined is None else (defined,)), *self.shapes[name].conditions)

    def _step(self, step: StepShape, defined: tree.Expression | None) -> CheckedStep:
        scope = replace(self.scope, own=step.name)
        for condition in self._conditions(step.name, defined):
            check_condition(condition, scope)
        parts = [c for whole in self._conditions(step.name, defined) for c in tree.conjuncts(whole)]
        if step.numbered and defined is not None:
            self._check_counted(step, defined)
        if step.negated:
            return CheckedStep(step, tuple(parts), ())
        bound = [(v.name, value) for c in parts for v, value in binders(c)]
        conditions = tuple(c for c in parts if not list(binders(c)))
        counted = () if defined is None else tuple(tree.conjuncts(defined))
        return CheckedStep(step, conditions, tuple(bound), counted if step.numbered else ())

    def _check_counted(self, step: StepShape, defined: tree.Expression) -> None:
        """a[i] counts as the events come, so it cannot wait for a later step."""
        earlier = self.positive[: self.positive.index(step.name)]
        for node in defined.walk():
            named = _step_named(node)
            if named is not None and named not in earlier and named != step.name:
                _refuse("later-step", f"'{step.name}[i]' cannot be counted by a later step, '{named}'", node.place)

    def _check_operators(self, pattern: tree.Pattern, before: tuple[str, ...]) -> tuple[str, ...]:
        """The conditions in ;{θ}: they know what was bound before them, nothing later. Returns what is bound after."""
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
            case tree.Conjunction(sides=several) | tree.Alternation(branches=several):
                after = before
                for one in several:
                    after += tuple(n for n in self._check_operators(one, before) if n not in after)
                return after
            case tree.Step(name=name):
                return (*before, name)
            case tree.Numbered(step=step) | tree.Chosen(step=step):
                return (*before, step.name)
        return before

    def _check_where(self, where: tree.FirstWhere, before: tuple[str, ...]) -> None:
        scope = self.scope
        later = {n: f"'{n}' is bound later than this condition is asked" for n in scope.steps if n not in before}
        check_condition(
            where.condition, replace(scope, steps=frozenset(before), hidden={**scope.hidden, **later}, own=None)
        )

    def _returns(self, scope: Scope, variables: Mapping[str, Type]) -> dict[str, Type]:
        if not self.tree.returns:
            return dict(variables)
        returns: dict[str, Type] = {}
        for returned in self.tree.returns:
            if returned.name in returns:
                hint = "give each column its own name"
                _refuse("defined-twice", f"RETURN names '{returned.name}' twice", returned.place, hint)
            kind = type_of(returned.expression, scope)
            # A duration has no attribute type of its own; it is handed out in seconds.
            returns[str(returned.name)] = Type.FLOAT if kind is Type.DURATION else kind
        return returns

    def _check_after(self) -> None:
        step = self.tree.after.step
        if step is not None and step not in self.positive:
            message = f"AFTER MATCH names '{step}', which is no step with an event"
            _refuse("unknown-step", message, place_of(step), suggestion(step, self.positive))

    def _losses(self, steps: Mapping[str, CheckedStep]) -> dict[str, float]:
        """How likely each step's event is lost: as LOSING says, else as the stream says, else never."""
        losing = self.tree.losing
        if losing is None:
            return {}
        self._check_losing_shape()
        said: dict[str, float] = {}
        everywhere: float | None = None
        for item in losing.items:
            for step in item.steps:
                if step not in steps:
                    hint = suggestion(step, steps)
                    _refuse("unknown-step", f"LOSING names an unknown step '{step}'", place_of(step), hint)
                if step in said:
                    _refuse("twice", f"LOSING speaks of '{step}' twice", place_of(step))
                said[step] = item.probability
            if not item.steps:
                if everywhere is not None:
                    _refuse("twice", "LOSING speaks of all steps twice", item.place)
                everywhere = item.probability
        if not losing.items and not self.stream_losses:
            hint = "write LOSING 0.05 ABOVE ..., or LOSS 0.05 in the STREAM statement"
            _refuse("no-loss", "LOSING does not say how much is lost, and no stream does", losing.place, hint)
        losses: dict[str, float] = {}
        for name, checked in steps.items():
            default = everywhere if everywhere is not None else _stream_loss(checked, self.stream_losses)
            losses[name] = said.get(name, default)
        return losses

    def _check_losing_shape(self) -> None:
        pattern = self.tree.pattern
        parts = pattern.parts if isinstance(pattern, tree.Sequence) else (tree.Part(pattern),)
        for part in parts:
            inner = part.pattern
            while isinstance(inner, tree.Conditioned):
                inner = inner.pattern
            if not isinstance(inner, tree.Step):
                hint = "lost events are estimated for a sequence of single steps, with or without negations"
                _refuse("losing-shape", "LOSING cannot be used with this pattern", inner.place, hint)


def _stream_loss(step: CheckedStep, losses: Iterable[tree.Loss]) -> float:
    """The first LOSS of the streams that speaks of this step: its WHEN is among the step's own conditions."""
    for loss in losses:
        if loss.condition is None or set(tree.conjuncts(loss.condition)) <= set(step.conditions):
            return loss.probability
    return 0.0


def _alike(one: Type, other: Type) -> bool:
    return one is other or (one.numeric and other.numeric) or Type.UNKNOWN in (one, other) or Type.NULL in (one, other)


def _step_named(node: tree.Node) -> str | None:
    match node:
        case tree.Bound(step=step) | tree.First(step=step) | tree.Last(step=step) | tree.Aggregate(step=step):
            return step
    return None


def binders(condition: tree.Expression) -> Iterator[tuple[tree.Variable, tree.Expression]]:
    """`$v = expression` or the other way round, standing as a condition of its own: it binds the variable."""
    match condition:
        case tree.Binary(operator="AND", left=left, right=right):
            yield from binders(left)
            yield from binders(right)
        case tree.Binary(operator="=", left=tree.Variable() as variable, right=value):
            if not isinstance(value, tree.Variable):
                yield variable, value
        case tree.Binary(operator="=", left=value, right=tree.Variable() as variable):
            yield variable, value
