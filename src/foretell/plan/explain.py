"""The plan of a subscription in words: every choice with its reason, states and edges, warnings and hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from foretell.display import duration_text, shortened
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import open_repetitions
from foretell.language.printer import conjunct_text, expression_text, pattern_text
from foretell.plan.compile import PlanCompiler
from foretell.plan.expressions import EveryNth, IndexKey
from foretell.plan.filter_report import filter_choices
from foretell.plan.kernel_report import kernel_choices
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.match_plan import MatchPlan, NfaGroupPlan
from foretell.plan.nfa.automaton import Automaton, Edge
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.nfa.counters import CounterTest, StepBound, Test
from foretell.plan.nfa.decomposition import decompose
from foretell.plan.nfa.state_bits import BITS
from foretell.plan.nfa.terms import Connector, Done, threads
from foretell.plan.observation import NothingObserved
from foretell.plan.performance_hints import PerformanceHint, hints_for
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.single_nfa import single_nfa
from foretell.plan.strategy import Executor, Strategy, TemplateMode, choose_strategy, is_longest

#: The most signs of a group in the name of its counter.
_COUNTER_WIDTH = 40


@dataclass(frozen=True)
class ExplainedWait:
    """An operator as it is written, and the negated steps that end the partial match before the next event."""

    operator: str
    absent: tuple[str, ...]


@dataclass(frozen=True)
class ExplainedState:
    """A state: the operators it waits under, in words and as written, and the key by which its partial matches are
    indexed."""

    number: int
    waits: tuple[str, ...]
    final: bool
    found_by: str | None = None
    operators: tuple[ExplainedWait, ...] = ()


@dataclass(frozen=True)
class ExplainedEdge:
    """An edge: from where to where, the step it binds, and its conditions."""

    source: int | None
    step: str
    judged: tuple[str, ...]
    target: int


@dataclass(frozen=True)
class ExplainedChoice:
    """One choice of plan.strategy: its subject, the value, and the reason."""

    subject: str
    value: str
    why: str


@dataclass(frozen=True)
class Explained:
    """The plan of one statement. `strategy` and `why` are in short what `choices` are in full. `unit` is that of the
    window, None where time is a plain number. `kept_lanes` says why no lane is freed, where that is so."""

    name: str
    strategy: str
    why: str
    lanes: tuple[str, ...]
    window: int | float | None
    states: tuple[ExplainedState, ...]
    edges: tuple[ExplainedEdge, ...]
    finally_judged: tuple[str, ...]
    predicates: int
    columns: int
    registers: int
    warnings: tuple[str, ...]
    forecast: str | None = None
    choices: tuple[ExplainedChoice, ...] = ()
    hints: tuple[str, ...] = ()
    unit: str | None = None
    kept_lanes: str | None = None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


class Codes:
    """Codes for strings, as a runtime would give them; explanations run nothing."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))


def explain_all(
    subscriptions: Sequence[CheckedSubscription], tables: Mapping[str, Mapping[str, Type]], edges: int = MOST_EDGES
) -> Iterator[Explained]:
    """The plans of the subscriptions of one program. `tables` has the columns of the FOR EACH tables that are known,
    `edges` is `Limits.edges`."""
    known = [s for s in subscriptions if s.tree.losing is None and (s.tree.table is None or s.tree.table in tables)]
    plan = PlanCompiler(Codes(), ForecastsObserved(), edges).extend(MatchPlan({}, {}), known, tables)
    for subscription in subscriptions:
        group = plan.input_of(subscription.name).group_of(subscription.name) if subscription.name in plan else None
        shared = group if isinstance(group, NfaGroupPlan) and len(group.members) > 1 else None
        yield explain(subscription, tables.get(str(subscription.tree.table)), shared, edges)


class ForecastsObserved(NothingObserved):
    """The policy of an engine, which observes the subscriptions with FORECAST."""

    def observes(self, subscription: CheckedSubscription) -> bool:
        return subscription.tree.forecast is not None


def explain(
    subscription: CheckedSubscription,
    parameters: Mapping[str, Type] | None = None,
    shared: NfaGroupPlan | None = None,
    edges: int = MOST_EDGES,
) -> Explained:
    """The plan of a subscription. `parameters` are the columns of its FOR EACH table, None where unknown; `shared` is
    the group that it shares with others, `edges` is `Limits.edges`."""
    observed = ForecastsObserved().observes(subscription)
    strategy = choose_strategy(subscription, parameters, observed=observed)
    nfa = _nfa(subscription, parameters, strategy, edges)
    plan = None if nfa is None else next(iter(nfa.members.values()))
    name = strategy.executor.value.value
    if strategy.template is not None:
        name += f", {strategy.template.value.value}"
    why = strategy.executor.why
    if nfa is None and strategy.executor.value in (Executor.NFA, Executor.ARRIVALS):
        why += "; its states depend on the types of its parameters: give its table with --table"
    states, explained_edges, final = (
        ((), (), ()) if nfa is None or plan is None else _structure(subscription, plan, nfa.compiled)
    )
    predicates, columns, registers = (0, 0, 0) if nfa is None else _sizes(nfa.compiled)
    return Explained(
        name=subscription.name,
        strategy=name,
        why=why,
        lanes=tuple(map(str, subscription.tree.per)),
        window=subscription.within,
        states=states,
        edges=explained_edges,
        finally_judged=final,
        predicates=predicates,
        columns=columns,
        registers=registers,
        warnings=tuple(_warnings(subscription)),
        forecast=None if plan is None else _forecast(subscription, plan.automaton),
        choices=tuple(_choices(subscription, strategy, nfa, shared, parameters or {})),
        hints=tuple(hint.text for hint in hints_for(subscription, strategy, nfa, shares=shared is not None)),
        unit="microseconds" if _has_moments(subscription) else None,
        kept_lanes=_kept_lanes(nfa, strategy, observed=observed),
    )


def hints_of(
    subscription: CheckedSubscription, parameters: Mapping[str, Type] | None = None, edges: int = MOST_EDGES
) -> tuple[PerformanceHint, ...]:
    """The changes that would make a subscription quicker, where it runs alone. `parameters` are the columns of its FOR
    EACH table, None where unknown."""
    strategy = choose_strategy(subscription, parameters, observed=ForecastsObserved().observes(subscription))
    nfa = _nfa(subscription, parameters, strategy, edges)
    return tuple(hints_for(subscription, strategy, nfa, shares=False))


def _kept_lanes(nfa: SharedNfa | None, strategy: Strategy, *, observed: bool) -> str | None:
    if strategy.executor.value is Executor.ABSENCE:
        return "each absence goes on"
    if observed:
        return "forecasts know the history of each"
    if nfa is not None and (
        any(plan.remembers for plan in nfa.members.values())
        or any(isinstance(c, EveryNth) for predicate in nfa.compiled.predicates for c in predicate)
    ):
        return "an `a[i]` counts in the whole lane"
    return None


def _has_moments(subscription: CheckedSubscription) -> bool:
    """Whether time is a TIMESTAMP: declared, or because the window has a unit."""
    return subscription.time is Type.TIMESTAMP or isinstance(subscription.tree.within, tree.Span)


def _nfa(
    subscription: CheckedSubscription, parameters: Mapping[str, Type] | None, strategy: Strategy, edges: int
) -> SharedNfa | None:
    """The NFA of a subscription alone, also of one that arrival lists run; None where it cannot be known."""
    if strategy.executor.value in (Executor.HIDDEN, Executor.ABSENCE):
        return None
    template = strategy.template
    selected = template is not None and template.value is TemplateMode.ONE_EXECUTOR
    if template is not None and not selected and not parameters:
        return None
    observed = strategy.observation is not None
    ways = {"selected": selected, "profiled": strategy.shares_runs, "observed": observed}
    return single_nfa(subscription, Codes(), parameters, edges=edges, **ways)


# ── choices ──


def _choices(
    subscription: CheckedSubscription,
    strategy: Strategy,
    nfa: SharedNfa | None,
    shared: NfaGroupPlan | None,
    parameters: Mapping[str, Type],
) -> Iterator[ExplainedChoice]:
    """Every choice, in the order in which an event meets them."""
    yield ExplainedChoice("executor", strategy.executor.value.value, strategy.executor.why)
    together = nfa if shared is None else shared.nfa
    yield from (ExplainedChoice(*choice) for choice in kernel_choices(strategy, together))
    yield from (ExplainedChoice(*choice) for choice in filter_choices(subscription, strategy, together, parameters))
    if strategy.executor.value is not Executor.HIDDEN:
        others = [] if shared is None else [m.subscription.name for m in shared.members.values()]
        others = [f"`{other}`" for other in others if other != subscription.name]
        value = f"with {_listed(others)}" if others else strategy.sharing.value.value
        yield ExplainedChoice("sharing", value, strategy.sharing.why)
    if strategy.template is not None:
        yield ExplainedChoice("template", strategy.template.value.value, strategy.template.why)
    if strategy.observation is not None:
        yield ExplainedChoice("observed by", strategy.observation.value.value, strategy.observation.why)


def _listed(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# ── structure ──


def _structure(
    subscription: CheckedSubscription, plan: SubscriptionPlan, nfa: CompiledNfa
) -> tuple[tuple[ExplainedState, ...], tuple[ExplainedEdge, ...], tuple[str, ...]]:
    states = tuple(
        ExplainedState(i, tuple(map(_link, links)), isinstance(s.term, Done), _key(nfa, i), tuple(map(_wait, links)))
        for i, s in enumerate(plan.automaton.states)
        for links in [threads(s.term)]
    )
    counters = [_counter(pattern) for pattern in plan.automaton.counted]
    edges = tuple(_edge(edge, counters) for edge in plan.automaton.edges)
    return states, edges, tuple(_final_conditions(subscription, plan))


def _final_conditions(subscription: CheckedSubscription, plan: SubscriptionPlan) -> Iterator[str]:
    """The conditions that only a finished match can answer."""
    for condition in plan.automaton.final:
        yield f"{condition.owner}: {expression_text(condition.expression)}"
    counted = [step for step in plan.deferred if subscription.steps[step].shape.numbered]
    yield from (f"no {step} in its gap" for step in plan.deferred if step not in counted)
    yield from (f"{step}: counted" for step in counted)
    yield from (f"no {step} in the window before" for step in plan.leading)
    yield from (f"no {step} until the window has passed, which LAST waits for" for step in plan.trailing)


def _sizes(nfa: CompiledNfa) -> tuple[int, int, int]:
    return len(nfa.predicates), len(nfa.columns), nfa.slots


def _key(nfa: CompiledNfa, state: int) -> str | None:
    """The key by which the partial matches at a state are indexed, and the parameters of their profiles."""
    hashed = nfa.key(state)
    keys = [expression_text(hashed.expression)] if isinstance(hashed, IndexKey) else []
    if nfa.rows is not None and state in nfa.rows.index.value:
        site = nfa.rows.sites[nfa.rows.index.value[state]]
        keys.append(f"the profile of {', '.join(f':{name}' for name in site.parameters)}")
    return " and ".join(keys) or None


def _wait(link: Connector) -> ExplainedWait:
    match link.operator:
        case tree.Next():
            return ExplainedWait(",", link.absent)
        case tree.FirstWhere(condition=condition):
            return ExplainedWait(f";{{{expression_text(condition)}}}", link.absent)
    return ExplainedWait(";", link.absent)


def _link(link: Connector) -> str:
    match link.operator:
        case tree.Next():
            text = "the very next event"
        case tree.FirstWhere(condition=condition):
            text = f"the first event with {expression_text(condition)}"
        case _:
            text = "any later event"
    return text + "".join(f", no {step} before it" for step in link.absent)


def _counter(counted: tree.Pattern) -> str:
    """How a condition names the counter of a step, of a group's rounds, or of the steps of a conjunction."""
    match counted:
        case tree.Step():
            return f"count of {pattern_text(counted)}"
        case tree.Conjunction(sides=(first, _, _, *_, last)):
            steps = " & … & ".join(shortened(pattern_text(side), _COUNTER_WIDTH) for side in (first, last))
            return f"steps of ({steps})"
        case tree.Conjunction():
            return f"steps of ({shortened(pattern_text(counted), _COUNTER_WIDTH)})"
    return f"rounds of ({shortened(pattern_text(counted), _COUNTER_WIDTH)})"


def _edge(edge: Edge, counters: Sequence[str]) -> ExplainedEdge:
    """An edge with its conditions; `counters` are the names of the counters that it tests and changes."""
    conditions = [
        conjunct_text(c.expression) + ("" if c.owner == edge.leaf.step else f" (of {c.owner})") for c in edge.conditions
    ]
    conditions += [f"${name} = {expression_text(value)}" for name, value in edge.agrees]
    conditions += [f"${name} := {expression_text(value)}" for name, value in edge.binds]
    conditions += [_test(test, counters) for test in edge.tests]
    for update in edge.updates:
        conditions.append(f"{counters[update.counter]} := {'it + 1' if update.value is None else update.value + 1}")
    return ExplainedEdge(edge.source, edge.leaf.step, tuple(conditions), edge.target)


def _test(test: Test, counters: Sequence[str]) -> str:
    """A test of a counter, which people count from one."""
    if isinstance(test, CounterTest):
        return f"{counters[test.counter]} {'>=' if test.at_least else '<'} {test.value + 1:,}"
    return f"after {test.step}" if isinstance(test, StepBound) else f"no {test.step} so far"


def _forecast(subscription: CheckedSubscription, automaton: Automaton) -> str | None:
    """The configuration by which forecasts know the partial matches (decision 0008)."""
    if subscription.tree.forecast is None:
        return None
    waiting = sum(not isinstance(state.term, Done) for state in automaton.states)
    if waiting <= BITS:
        return "a chain over the sets of states at which partial matches wait"
    merged = f"a chain in which the {waiting} states at which partial matches wait share {BITS} bits"
    parts = decompose(subscription, automaton)
    if parts is None:
        return merged
    by_parts = f"a chain for each of its {len(parts)} parts with their times combined"
    return f"{merged}, or {by_parts}: training picks the better"


def _warnings(subscription: CheckedSubscription) -> Iterator[str]:
    if subscription.within is None and any(isinstance(n, tree.Later) for n in subscription.pattern.walk()):
        yield (
            "`;` without WITHIN keeps every partial match for ever: memory grows with each event that begins one, and "
            "time with the partial matches that an event can extend; add WITHIN"
        )
    if is_longest(subscription):
        for repetition in open_repetitions(subscription.pattern):
            if isinstance(repetition.under, tree.Later):
                yield (
                    "a step that repeats under `;` has a partial match for every selection of its events; repeat it "
                    "under `;{θ}`, where θ is its condition"
                )


# ── as text ──


def as_text(explained: Explained) -> str:
    return "\n".join([explained.name, *(f"  {line}" for line in _lines(explained))])


def _lines(explained: Explained) -> Iterator[str]:
    for choice in explained.choices:
        yield f"{choice.subject}: {choice.value} ({choice.why})"
    if not explained.states and explained.choices[0].why != explained.why:
        yield f"states: not known ({explained.why.removeprefix(f'{explained.choices[0].why}; ')})"
    if explained.lanes:
        kept = "" if explained.kept_lanes is None else f", kept for good ({explained.kept_lanes})"
        yield f"lanes: by {', '.join(explained.lanes)}{kept}"
    if explained.window is not None:
        plain = explained.unit is None
        yield f"window: {explained.window if plain else duration_text(explained.window / 1e6, exact=True)}"
    if explained.forecast is not None:
        yield f"forecasts: {explained.forecast}"
    if explained.states:
        counts = {
            "state": len(explained.states),
            "edge": len(explained.edges),
            "predicate": explained.predicates,
            "compared column": explained.columns,
            "register": explained.registers,
        }
        yield "size: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
    for edge in explained.edges:
        source = "begin" if edge.source is None else f"{edge.source}"
        target = "match" if explained.states[edge.target].final else str(edge.target)
        conditions = f" if {' AND '.join(edge.judged)}" if edge.judged else ""
        yield f"{source} -{edge.step}-> {target}{conditions}"
    for state in explained.states:
        if state.waits:
            key = f", indexed by {state.found_by}" if state.found_by else ""
            yield f"{state.number} waits for {' and '.join(state.waits)}{key}"
    yield from (f"on the finished match: {text}" for text in explained.finally_judged)
    yield from (f"warning: {text}" for text in explained.warnings)
    yield from (f"hint: {text}" for text in explained.hints)


def as_mermaid(explained: Explained) -> str:
    lines = ["stateDiagram-v2"]
    for edge in explained.edges:
        source = "[*]" if edge.source is None else f"s{edge.source}"
        target = "[*]" if explained.states[edge.target].final else f"s{edge.target}"
        conditions = f" {' AND '.join(edge.judged)}".replace(":", " ").replace(";", ",") if edge.judged else ""
        lines.append(f"    {source} --> {target} : {edge.step}{conditions}")
    for state in explained.states:
        if state.waits:
            waits = " and ".join(state.waits).replace(":", " ").replace(";", ",")
            lines.append(f"    note right of s{state.number} : {waits}")
    return "\n".join(lines)
