"""What was planned for a subscription, in words: its states, where each condition is judged, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.plan.expressions import IndexKey
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.nfa.automaton import Automaton, Edge
from foretell.plan.nfa.decomposition import parts_of
from foretell.plan.nfa.derivatives import Connector, Done, threads
from foretell.plan.nfa.state_bits import BITS
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import Executor, choose_executor
from foretell.plan.template_selection import selection_of


@dataclass(frozen=True)
class ExplainedState:
    """A state: what it waits under, and by which value of an event its partial matches are found."""

    number: int
    waits: tuple[str, ...]
    final: bool
    found_by: str | None = None


@dataclass(frozen=True)
class ExplainedEdge:
    """An edge: from where to where, which step it binds, and what is judged there."""

    source: int | None
    step: str
    judged: tuple[str, ...]
    target: int


@dataclass(frozen=True)
class Explained:
    """The plan of one statement. `why` says how the strategy was chosen, `forecast` what forecasts go by."""

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

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def explain(subscription: CheckedSubscription, parameters: Mapping[str, Type] | None = None) -> Explained:
    """The plan of a subscription. Of one the compiled engine does not run it says so, and has no states."""
    strategy, why = _strategy(subscription)
    if subscription.tree.losing is not None:
        return _explained(subscription, None, "the reference", "the compiled engine does not run LOSING yet")
    if isinstance(subscription.pattern, tree.Silence):
        return _explained(subscription, None, "a clock for each lane", "a negation alone waits for no events")
    selected = selection_of(subscription) is not None
    if subscription.tree.table is not None and not selected and parameters is None:
        unknown = "what its states are depends on the types of its parameters, which its table tells"
        return _explained(subscription, None, strategy, f"{why}; {unknown}")
    empty = SharedNfa.empty(Codes(), subscription.simultaneous, subscription.time)
    shared, number = empty.joined_by(subscription, parameters, selected=selected)
    return _explained(subscription, (shared.members[number], shared.compiled), strategy, why)


def _strategy(subscription: CheckedSubscription) -> tuple[str, str]:
    chosen = choose_executor(subscription)
    name = {Executor.NFA: "instances with registers"}.get(chosen.value, chosen.value.value)
    if subscription.tree.table is None:
        return name, chosen.why
    if selection_of(subscription) is not None:
        return (
            f"{name}, one machine for all rows",
            f"{chosen.why}; the parameters only select the first event, by equalities and at most one bound",
        )
    return (
        f"{name}, a machine for each row",
        f"{chosen.why}; the parameters do more than select the first event by equalities and one bound",
    )


class Codes:
    """Codes for strings, as an engine would give them; nothing is run with them here."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))


def _explained(
    subscription: CheckedSubscription, planned: tuple[SubscriptionPlan, CompiledNfa] | None, strategy: str, why: str
) -> Explained:
    states: tuple[ExplainedState, ...] = ()
    edges: tuple[ExplainedEdge, ...] = ()
    final: tuple[str, ...] = ()
    numbers = (0, 0, 0)
    if planned is not None:
        program, machine = planned
        numbers = len(machine.predicates), len(machine.columns), machine.slots
        states = tuple(
            ExplainedState(i, tuple(map(_link, threads(s.term))), isinstance(s.term, Done), _key(machine, i))
            for i, s in enumerate(program.automaton.states)
        )
        edges = tuple(_edge(e) for e in program.automaton.edges)
        final = tuple(f"{c.owner}: {expression_text(c.expression)}" for c in program.automaton.final)
        numbered = {step for step in program.deferred if subscription.steps[step].shape.numbered}
        final += tuple(f"no {step} in its gap" for step in program.deferred if step not in numbered)
        final += tuple(f"{step}: counted" for step in program.deferred if step in numbered)
        final += tuple(f"no {step} in the window before" for step in program.leading)
    return Explained(
        subscription.name,
        strategy,
        why,
        tuple(map(str, subscription.tree.per)),
        subscription.within,
        states,
        edges,
        final,
        *numbers,
        tuple(_warnings(subscription)),
        None if planned is None else _forecast(subscription, planned[0].automaton),
    )


def _forecast(subscription: CheckedSubscription, automaton: Automaton) -> str | None:
    """How partial matches are seen by forecasts (decision 0008)."""
    if subscription.tree.forecast is None:
        return None
    waiting = sum(not isinstance(state.term, Done) for state in automaton.states)
    if waiting <= BITS:
        return "a chain over the sets of states at which partial matches wait"
    shared = f"a chain in which the {waiting} states at which partial matches wait share {BITS} bits"
    parts = parts_of(subscription, automaton)
    if parts is None:
        return shared
    return f"{shared}, or a chain for each of its {len(parts)} parts, their times combined: as training finds better"


def _key(machine: CompiledNfa, state: int) -> str | None:
    """What a state's instances are hashed by."""
    hashed = machine.key(state)
    return expression_text(hashed.expression) if isinstance(hashed, IndexKey) else None


def _link(link: Connector) -> str:
    match link.operator:
        case tree.Next():
            text = "the very next event"
        case tree.FirstWhere(condition=condition):
            text = f"the first event with {expression_text(condition)}"
        case _:
            text = "any later event"
    return text + "".join(f", no {step} before it" for step in link.absent)


def _edge(edge: Edge) -> ExplainedEdge:
    judged = [
        expression_text(c.expression) + ("" if c.owner == edge.leaf.step else f" (of {c.owner})") for c in edge.judged
    ]
    judged += [f"${name} = {expression_text(value)}" for name, value in edge.agreeing]
    judged += [f"${name} := {expression_text(value)}" for name, value in edge.binding]
    return ExplainedEdge(edge.source, edge.leaf.step, tuple(judged), edge.target)


def _warnings(subscription: CheckedSubscription) -> list[str]:
    if subscription.within is not None:
        return []
    waiting = [n for n in subscription.pattern.walk() if isinstance(n, tree.Later)]
    if not waiting:
        return []
    return [
        "';' without WITHIN: every partial match waits for ever. Memory grows with each event that begins one, and the "
        "time for each event with the partial matches it can go on"
    ]


# ── as text ──


def as_text(explained: Explained) -> str:
    lines = [f"{explained.name}: {explained.strategy}", f"  because {explained.why}"]
    if explained.lanes:
        lines.append(f"  lanes by {', '.join(explained.lanes)}")
    if explained.window is not None:
        lines.append(f"  window {explained.window}")
    if explained.forecast is not None:
        lines.append(f"  forecasts by {explained.forecast}")
    if explained.states:
        lines.append(
            f"  {len(explained.states)} states, {len(explained.edges)} edges, {explained.predicates} predicates, "
            f"{explained.columns} columns compared, {explained.registers} registers"
        )
    waits = {s.number: " and ".join(s.waits) for s in explained.states if s.waits}
    for edge in explained.edges:
        source = "begin" if edge.source is None else f"{edge.source}"
        target = "match" if explained.states[edge.target].final else str(edge.target)
        asked = f" if {' AND '.join(edge.judged)}" if edge.judged else ""
        lines.append(f"  {source} -{edge.step}-> {target}{asked}")
    found = {s.number: f", found by {s.found_by}" if s.found_by else "" for s in explained.states}
    lines += [f"  {number} waits for {text}{found[number]}" for number, text in waits.items()]
    lines += [f"  on the finished match: {text}" for text in explained.finally_judged]
    lines += [f"  warning: {text}" for text in explained.warnings]
    return "\n".join(lines)


def as_mermaid(explained: Explained) -> str:
    lines = ["stateDiagram-v2"]
    for edge in explained.edges:
        source = "[*]" if edge.source is None else f"s{edge.source}"
        target = "[*]" if explained.states[edge.target].final else f"s{edge.target}"
        asked = f" {' AND '.join(edge.judged)}".replace(":", " ").replace(";", ",") if edge.judged else ""
        lines.append(f"    {source} --> {target} : {edge.step}{asked}")
    for state in explained.states:
        if state.waits:
            waits = " and ".join(state.waits).replace(":", " ").replace(";", ",")
            lines.append(f"    note right of s{state.number} : {waits}")
    return "\n".join(lines)
