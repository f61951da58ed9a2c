"""The plan of a program: every choice made, nothing run. `foretell.plan.compile` makes and extends plans.

```
MatchPlan
  InputGroupPlan            statements with the same FROM and PER: they read one input
    StatementPlan           a statement, its strategy, and the group and number it runs as
    NfaGroupPlan            subscriptions that one executor runs
      SubscriptionPlan      what follows the kernel for one of them (plan.lower.program)
    AbsencePlan             `!b` alone: a clock for each lane
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

from foretell.events.event import PROBABILITY, RESTS_ON
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import statement_text
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.single_step import SingleStepPlan
from foretell.plan.openings import Opening
from foretell.plan.persistent_map import PersistentMap
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.result_schema import ResultSchema, result_schema
from foretell.plan.strategy import (
    Decision,
    GroupKind,
    KernelDecision,
    ObservationMode,
    Strategy,
    TemplateMode,
    is_longest,
)
from foretell.plan.template_selection import TemplateSelection
from foretell.records import record


@record
class InputPlan:
    """The streams of one FROM, merged, in the lanes of one PER. Statements with equal inputs share one."""

    streams: tuple[str, ...]
    per: tuple[str, ...]
    simultaneous: bool
    time: Type
    attributes: Mapping[str, Type] = field(compare=False)

    @classmethod
    def of(cls, subscription: CheckedSubscription) -> InputPlan:
        statement = subscription.tree
        return cls(
            tuple(map(str, statement.streams)),
            tuple(map(str, statement.per)),
            subscription.simultaneous,
            subscription.time,
            subscription.attributes,
        )


@record
class NfaGroupPlan:
    """Subscriptions that one executor runs: several in a shared NFA, or one with an NFA, arrival lists or a profile
    index of its own.

    The group of a template whose rows run apart has an executor for each row.
    `joined` are all subscriptions that ever joined, by their numbers, and `moves` is the order in which they joined and
    left (`~n`: number n left). The numbers of states and slots depend on both, so snapshots record them.
    """

    kind: GroupKind
    joined: tuple[CheckedSubscription, ...]
    moves: tuple[int, ...]
    nfa: SharedNfa | None = None
    arrivals: ArrivalPlan | None = None
    keyed: Decision[bool] | None = None
    selection: TemplateSelection | None = None
    observation: ObservationMode | None = None
    profiled: SingleStepPlan | None = None

    @cached_property
    def members(self) -> Mapping[int, SubscriptionPlan]:
        """The subscriptions that run, by their numbers."""
        if self.arrivals is not None:
            return {0: self.arrivals.program}
        if self.profiled is not None:
            return {0: self.profiled.program}
        assert self.nfa is not None
        return self.nfa.members

    @property
    def kernel(self) -> KernelDecision | None:
        """The kernel that runs the NFA as it is now; arrival lists have one kernel, a profile index has its own."""
        return None if self.nfa is None else self.nfa.compiled.kernel

    @property
    def is_open(self) -> bool:
        """Whether another subscription may join."""
        return self.kind.shares and self.nfa is not None and not self.nfa.full

    @property
    def is_open_to_like(self) -> bool:
        """Whether another subscription may join that begins like one of its own."""
        return self.kind.shares and self.nfa is not None and not self.nfa.full_for_like

    def record(self) -> list[list[str | None]]:
        """The name of each subscription that joined, for a snapshot; with its text where it has left since."""
        return [
            [subscription.name, None if number in self.members else statement_text(subscription.tree)]
            for number, subscription in enumerate(self.joined)
        ]


@record
class AbsencePlan:
    """A negated step alone: a clock for each lane, and for each row of a template.

    Its expressions read columns by name: attributes, `duration`, and `:name` for the parameters of a row.
    """

    subscription: CheckedSubscription
    observation: ObservationMode | None = None

    @property
    def name(self) -> str:
        return self.subscription.name

    @cached_property
    def schema(self) -> ResultSchema:
        return result_schema(self.subscription)

    @property
    def within(self) -> int | float:
        """The length of an absence."""
        within = self.subscription.within
        assert within is not None
        return within

    @property
    def duration_type(self) -> Type:
        time = self.subscription.time
        return Type.DURATION if time is Type.TIMESTAMP else time

    @cached_property
    def predicates(self) -> tuple[tuple[tree.Expression, ...], ...]:
        """The conditions of each negated step: an event that satisfies one of them ends the absence."""
        pattern = self.subscription.pattern
        assert isinstance(pattern, tree.Silence)
        steps = [self.subscription.steps[str(negation.step.name)] for negation in pattern.absent]
        return tuple(tuple(map(_by_name, step.conditions)) for step in steps)

    @cached_property
    def outputs(self) -> Mapping[str, tree.Expression]:
        """The columns of RETURN."""
        return {str(r.name): _by_name(r.expression) for r in self.subscription.tree.returns}

    @cached_property
    def having(self) -> tree.Expression | None:
        having = self.subscription.tree.having
        return None if having is None else _by_name(having)


@record
class StatementPlan:
    """One statement: how it runs, and where. `parameters` are the columns of its FOR EACH table, `attributes` those
    that the statement and its observer read.

    `group` is None for a template whose table has no columns: it has no rows to run.
    """

    subscription: CheckedSubscription
    strategy: Strategy
    parameters: Mapping[str, Type]
    attributes: frozenset[str]
    group: int | None
    number: int = 0

    @property
    def name(self) -> str:
        return self.subscription.name

    @property
    def is_longest(self) -> bool:
        """Whether AFTER MATCH LONGEST holds its matches."""
        return is_longest(self.subscription)

    @property
    def table(self) -> str | None:
        """The FOR EACH table."""
        table = self.subscription.tree.table
        return None if table is None else str(table)

    @property
    def runs_by_row(self) -> bool:
        """Whether each row of the FOR EACH table has an executor of its own."""
        template = self.strategy.template
        return template is not None and template.value is TemplateMode.EXECUTOR_PER_ROW

    @property
    def shares_rows(self) -> bool:
        """Whether equal rows of the FOR EACH table may have one executor: no id tells them apart, nobody learns from
        each of them, and the estimates of each are not withdrawn apart."""
        if self.strategy.observation is not None or self.subscription.hidden:
            return False
        steps = self.subscription.steps.values()
        conditions = [c for step in steps for c in (*step.conditions, *step.counted, *(e for _, e in step.binders))]
        nodes = (n for part in (self.subscription.tree, self.subscription.pattern, *conditions) for n in part.walk())
        return not any(isinstance(node, tree.Parameter) and node.name == "id" for node in nodes)

    @property
    def stage_has_rows(self) -> bool:
        """Whether the result stage of the statement has the rows of the FOR EACH table."""
        return self.subscription.stage_has_rows


@record
class InputGroupPlan:
    """Statements that read one input. Groups are numbered in the order in which they were made.

    `open` has the group that statements of a kind join, `alike` that of those that begin like a statement of it.
    """

    input: InputPlan
    statements: PersistentMap[str, StatementPlan] = field(default_factory=PersistentMap)
    groups: PersistentMap[int, NfaGroupPlan | AbsencePlan] = field(default_factory=PersistentMap)
    open: Mapping[GroupKind, int] = field(default_factory=dict)
    alike: PersistentMap[tuple[GroupKind, Opening], int] = field(default_factory=PersistentMap)
    next_group: int = 0

    def without(self, name: str) -> InputGroupPlan:
        """The plan with one statement less."""
        statement, groups = self.statements[name], self.groups
        if statement.group is not None:
            reduced = _reduced(groups[statement.group], statement.number)
            number = statement.group
            groups = groups.without(number) if reduced is None else groups.updated({number: reduced})
        still_open = {kind: number for kind, number in self.open.items() if number in groups}
        alike = self.alike
        if len(groups) < len(self.groups):
            nothing: PersistentMap[tuple[GroupKind, Opening], int] = PersistentMap()
            alike = nothing.updated({key: number for key, number in alike.items() if number in groups})
        return replace(self, statements=self.statements.without(name), groups=groups, open=still_open, alike=alike)

    @cached_property
    def reads_estimates(self) -> bool:
        """Whether some statement reads estimates, so that its matches may be uncertain."""
        return any(statement.subscription.reads_estimates for statement in self.statements.values())

    @property
    def nfa_groups(self) -> Iterator[NfaGroupPlan]:
        return (group for group in self.groups.values() if isinstance(group, NfaGroupPlan))

    def group_of(self, name: str) -> NfaGroupPlan | AbsencePlan | None:
        """The group that a statement runs in."""
        number = self.statements[name].group
        return None if number is None else self.groups[number]


@record
class MatchPlan:
    """The plan of a program. `ranks` order streams and statements: a statement reads only lower ranks.

    The caller owns `ranks`, and extends it before it extends the plan.
    """

    ranks: Mapping[str, int]
    inputs: Mapping[InputPlan, InputGroupPlan]

    @property
    def statements(self) -> Iterator[StatementPlan]:
        return (statement for group in self.inputs.values() for statement in group.statements.values())

    def __contains__(self, name: object) -> bool:
        return any(name in group.statements for group in self.inputs.values())

    def input_of(self, name: str) -> InputGroupPlan:
        """The input group of a statement."""
        for group in self.inputs.values():
            if name in group.statements:
                return group
        raise KeyError(name)

    def without(self, name: str) -> MatchPlan:
        """The plan with one statement less, which no other statement reads."""
        group = self.input_of(name)
        reduced = group.without(name)
        inputs = {key: reduced if other is group else other for key, other in self.inputs.items()}
        if not reduced.statements:
            del inputs[group.input]
        return replace(self, inputs=inputs)


def _by_name(expression: tree.Expression) -> tree.Expression:
    """An expression with `duration` and parameters as attributes of the current event."""
    match expression:
        case tree.Elapsed():
            return tree.Attribute(tree.This(), "duration")
        case tree.Parameter(name=name):
            return tree.Attribute(tree.This(), f":{name}")
    return tree.map_children(expression, _by_name)


def _reduced(group: NfaGroupPlan | AbsencePlan, number: int) -> NfaGroupPlan | None:
    """A group with one subscription less; None where it was the last."""
    if isinstance(group, AbsencePlan) or group.nfa is None or len(group.members) == 1:
        return None
    return replace(group, nfa=group.nfa.without(number), moves=(*group.moves, ~number))


def attributes_read_by(subscription: CheckedSubscription) -> frozenset[str]:
    """The attributes that a subscription names: only these columns of its streams are read."""
    names = {str(name) for name in subscription.tree.per}
    names |= {PROBABILITY, RESTS_ON} & subscription.attributes.keys()
    for node in subscription.tree.walk():
        match node:
            case tree.Attribute(name=name) | tree.Aggregate(attribute=str(name)):
                names.add(str(name))
    return frozenset(names)
