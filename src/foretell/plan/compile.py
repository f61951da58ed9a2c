"""Compilation: from checked statements to an immutable `MatchPlan`, before the first event.

A subscription that comes later extends the plan, and one that leaves reduces it; the runtime follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from foretell.events.types import Type
from foretell.garbage import collection_paused
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.plan.lower import arrivals
from foretell.plan.lower.single_step import lower_single_step
from foretell.plan.match_plan import (
    AbsencePlan,
    InputGroupPlan,
    InputPlan,
    MatchPlan,
    NfaGroupPlan,
    StatementPlan,
    attributes_read_by,
)
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.observation import NOTHING_OBSERVED, ObservationPolicy
from foretell.plan.openings import Opening, openings
from foretell.plan.single_nfa import single_nfa
from foretell.plan.strategy import (
    Executor,
    GroupKind,
    ObservationMode,
    Strategy,
    TemplateMode,
    as_recorded,
    choose_keys,
    choose_strategy,
)
from foretell.plan.template_selection import template_selection
from foretell.records import record

#: The columns of FOR EACH tables, by the names of the tables.
TableTypes = Mapping[str, Mapping[str, Type]]


@record
class PlanCompiler:
    """Compiles plans for one runtime: `code_of` gives the runtime's codes of strings, `policy` tells which
    subscriptions are observed, and `edges` limits their automata (`Limits.edges`)."""

    code_of: Callable[[str], int]
    policy: ObservationPolicy = NOTHING_OBSERVED
    edges: int = MOST_EDGES

    def compile(self, program: CheckedProgram, tables: TableTypes | None = None) -> MatchPlan:
        """The plan of a program, in which other statements run for CORRELATE and LOSING."""
        return self.extend(MatchPlan(program.ranks, {}), program.statements, tables)

    def extend(
        self, plan: MatchPlan, statements: Iterable[CheckedStatement], tables: TableTypes | None = None
    ) -> MatchPlan:
        """The plan with more statements."""
        inputs: dict[InputPlan, _GroupBuilder] = {}
        with collection_paused():
            for statement in statements:
                assert isinstance(statement, CheckedSubscription)
                table = statement.tree.table
                parameters = {} if table is None else (tables or {})[str(table)]
                key = InputPlan.of(statement)
                if key not in inputs:
                    inputs[key] = _GroupBuilder(plan.inputs.get(key) or InputGroupPlan(key), self)
                observed = self.policy.observes(statement)
                inputs[key].add(statement, parameters, choose_strategy(statement, parameters, observed=observed))
        return replace(plan, inputs={**plan.inputs, **{key: group.plan() for key, group in inputs.items()}})

    def restore(
        self,
        program: CheckedProgram,
        records: Iterable[InputGroupRecord],
        recheck: Callable[[str], CheckedSubscription],
        tables: TableTypes,
    ) -> MatchPlan:
        """The plan that a snapshot records: subscriptions join and leave as they did, so that all numbers are the same.

        `recheck` checks the text of a subscription that has left since.
        """
        checked = {s.name: s for s in program.statements if isinstance(s, CheckedSubscription)}
        inputs = {}
        with collection_paused():
            for record in records:
                key = InputPlan.of(checked[record.statements[0]])
                group = _GroupBuilder(InputGroupPlan(key), self)
                group.replay(record, checked, recheck, tables)
                inputs[key] = group.plan()
        return MatchPlan(program.ranks, inputs)


# ── what snapshots record ──


@record
class GroupRecord:
    """A group in a snapshot: names of the subscriptions that joined, with the texts of those that left since; the order
    in which they joined and left; how the rows of a template run; whether it was observed."""

    kind: GroupKind
    joined: tuple[tuple[str, str | None], ...]
    moves: tuple[int, ...]
    template: TemplateMode
    observed: bool


@record
class InputGroupRecord:
    """An input group in a snapshot: its statements, and its groups; each row of a template may have one."""

    statements: tuple[str, ...]
    groups: tuple[GroupRecord, ...]


# ── building ──


@dataclass
class _GroupBuilder:
    """An input group plan while statements are added to it: `statements` and `groups` are those that change."""

    before: InputGroupPlan
    compiler: PlanCompiler
    statements: dict[str, StatementPlan] = field(default_factory=dict)
    groups: dict[int, NfaGroupPlan | AbsencePlan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.input = self.before.input
        self.open = dict(self.before.open)
        self.next_group = self.before.next_group
        self.alike: dict[tuple[GroupKind, Opening], int] = {}

    def plan(self) -> InputGroupPlan:
        statements, groups = self.before.statements.updated(self.statements), self.before.groups.updated(self.groups)
        alike = self.before.alike.updated(self.alike)
        return InputGroupPlan(self.input, statements, groups, self.open, alike, self.next_group)

    def _group(self, number: int) -> NfaGroupPlan | AbsencePlan:
        return self.groups[number] if number in self.groups else self.before.groups[number]

    def add(self, subscription: CheckedSubscription, parameters: Mapping[str, Type], strategy: Strategy) -> None:
        kind = strategy.group_kind
        if strategy.executor.value is Executor.ABSENCE:
            mode = None if strategy.observation is None else strategy.observation.value
            group: int | None = self._new(AbsencePlan(subscription, mode))
        elif (joinable := self._joinable(kind, subscription)) is not None:
            group = joinable
            self.groups[group] = self._joined(group, subscription)
        elif subscription.tree.table is not None and not parameters and not subscription.stage_has_rows:
            group = None
        else:
            group = self._new(self._made(subscription, parameters, strategy))
        number = 0
        if group is not None:
            plan = self.groups[group]
            if isinstance(plan, NfaGroupPlan):
                number = plan.moves[-1]
                self._admit(group, plan, subscription)
        self.statements[subscription.name] = self._statement(subscription, strategy, parameters, group, number)

    def _statement(
        self,
        subscription: CheckedSubscription,
        strategy: Strategy,
        parameters: Mapping[str, Type],
        group: int | None,
        number: int,
    ) -> StatementPlan:
        attributes = attributes_read_by(subscription)
        if strategy.observation is not None:
            attributes |= self.compiler.policy.attributes(subscription)
        return StatementPlan(subscription, strategy, parameters, attributes, group, number)

    def _new(self, group: NfaGroupPlan | AbsencePlan) -> int:
        number, self.next_group = self.next_group, self.next_group + 1
        self.groups[number] = group
        return number

    def _joinable(self, kind: GroupKind, subscription: CheckedSubscription) -> int | None:
        """The group that a subscription joins: one with a subscription that begins alike for as many steps as can be,
        else the latest of its kind."""
        if not kind.shares:
            return None
        for opening in reversed(openings(subscription)):
            number = self.alike.get((kind, opening), self.before.alike.get((kind, opening)))
            group = None if number is None else self._live_group(number)
            if isinstance(group, NfaGroupPlan) and group.is_open_to_like:
                return number
        number = self.open.get(kind)
        group = None if number is None else self._group(number)
        return number if isinstance(group, NfaGroupPlan) and group.is_open else None

    def _live_group(self, number: int) -> NfaGroupPlan | AbsencePlan | None:
        return self.groups[number] if number in self.groups else self.before.groups.get(number)

    def _admit(self, number: int, group: NfaGroupPlan, subscription: CheckedSubscription) -> None:
        """Let others find the group that a subscription has joined."""
        if group.is_open:
            self.open[group.kind] = number
        if group.kind.shares:
            self.alike |= {(group.kind, opening): number for opening in openings(subscription)}

    def _joined(self, number: int, subscription: CheckedSubscription) -> NfaGroupPlan:
        group = self._group(number)
        assert isinstance(group, NfaGroupPlan)
        assert group.nfa is not None
        nfa, member = group.nfa.coded_by(self.compiler.code_of).joined_by(subscription, edges=self.compiler.edges)
        return replace(group, nfa=nfa, joined=(*group.joined, subscription), moves=(*group.moves, member))

    def _made(
        self, subscription: CheckedSubscription, parameters: Mapping[str, Type], strategy: Strategy
    ) -> NfaGroupPlan:
        """A group of one subscription."""
        selection = None
        if strategy.template is not None and strategy.template.value is TemplateMode.ONE_EXECUTOR:
            selection = template_selection(subscription, parameters)
        mode = None if strategy.observation is None else strategy.observation.value
        group = NfaGroupPlan(strategy.group_kind, (subscription,), (0,), selection=selection, observation=mode)
        selected, code_of, edges = selection is not None, self.compiler.code_of, self.compiler.edges
        if strategy.executor.value is Executor.PROFILES:
            return replace(group, profiled=lower_single_step(subscription, parameters, edges))
        if strategy.executor.value is Executor.ARRIVALS:
            lowered = arrivals.lower_arrivals(subscription, code_of, parameters, selected=selected, edges=edges)
            return replace(group, arrivals=lowered)
        ways = {
            "selected": selected,
            "profiled": strategy.shares_runs,
            "observed": mode not in (None, ObservationMode.CORRELATOR),
        }
        nfa = single_nfa(subscription, code_of, parameters, edges=edges, **ways)
        return replace(group, nfa=nfa, keyed=choose_keys(nfa, observed=ways["observed"]))

    # ── from a snapshot ──

    def replay(
        self,
        record: InputGroupRecord,
        checked: Mapping[str, CheckedSubscription],
        recheck: Callable[[str], CheckedSubscription],
        tables: TableTypes,
    ) -> None:
        """Groups as the snapshot records them, then the statements that it has no group for."""
        planned: dict[str, StatementPlan] = {}
        for group in record.groups:
            first, _ = group.joined[0]
            if first not in planned or len(group.joined) > 1:  # else another row of the same template
                planned |= {s.name: s for s in self._replayed(group, checked, recheck, tables)}
        for name in record.statements:
            if name in planned:
                self.statements[name] = planned[name]
                continue
            subscription, parameters = checked[name], _parameters(checked[name], tables)
            strategy = choose_strategy(subscription, parameters, observed=self.compiler.policy.observes(subscription))
            self.add(subscription, parameters, strategy)

    def _replayed(
        self,
        record: GroupRecord,
        checked: Mapping[str, CheckedSubscription],
        recheck: Callable[[str], CheckedSubscription],
        tables: TableTypes,
    ) -> Iterable[StatementPlan]:
        joined = [checked[name] if text is None else recheck(text) for name, text in record.joined]
        first = joined[0]
        parameters = _parameters(first, tables)
        strategies = [_recorded_strategy(s, parameters, record) for s in joined]
        number = self._new(self._made(first, parameters, strategies[0]))
        for move in record.moves[1:]:
            group = self.groups[number]
            assert isinstance(group, NfaGroupPlan)
            assert group.nfa is not None
            if move < 0:
                self.groups[number] = replace(group, nfa=group.nfa.without(~move), moves=(*group.moves, move))
            else:
                self.groups[number] = self._joined(number, joined[move])
        group = self.groups[number]
        assert isinstance(group, NfaGroupPlan)
        for member in group.members:
            self._admit(number, group, joined[member])
            yield self._statement(joined[member], strategies[member], parameters, number, member)


def _parameters(subscription: CheckedSubscription, tables: TableTypes) -> Mapping[str, Type]:
    table = subscription.tree.table
    return {} if table is None else tables[str(table)]


def _recorded_strategy(
    subscription: CheckedSubscription, parameters: Mapping[str, Type], record: GroupRecord
) -> Strategy:
    strategy = choose_strategy(subscription, parameters, observed=record.observed)
    return as_recorded(subscription, strategy, record.kind, record.template)
