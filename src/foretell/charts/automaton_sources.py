"""The automata that are drawn: of subscriptions, of statements with LOSING, and the machines of correlators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import isclose

from foretell.charts.automaton import (
    AutomatonChart,
    DrawnEdge,
    DrawnState,
    StateKind,
    TextLine,
    Tone,
    edge_lines,
)
from foretell.charts.learned_automaton import NOTHING, LearnedAutomaton, LearnedState
from foretell.correlate.explanation import ExplainedCorrelator, ExplainedTransition
from foretell.display import duration_text
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text, horizon_text
from foretell.plan.explain import Explained, ExplainedEdge, ExplainedState
from foretell.recover.loss_automaton import LossAutomaton, LossEdge

_START, _END = "begin", "match"

#: Operators in words, as far as they are the same for all patterns.
_WORDS = {",": "next event", ";": "any later event"}


# ── subscriptions ──


def subscription_chart(
    slug: str, statement: CheckedSubscription, explained: Explained, learned: LearnedAutomaton | None = None
) -> AutomatonChart:
    """The NFA of a subscription. Without any states it is that of a clock, as of `!b` alone."""
    known = {} if learned is None else learned.states
    if not explained.states:
        return _clock_chart(slug, statement)
    before = [line.text for line in _state_learned(known.get(NOTHING), statement)]
    hover = "\n".join(["no partial match", *before, *_moves_texts(known.get(NOTHING))])
    begin = DrawnState(_START, StateKind.START, (), hover)
    waiting = (_state(state, statement, known.get(state.number)) for state in explained.states if not state.final)
    # Final states differ in what they have bound; for a reader, and for a model, all are the match.
    states = [begin, *waiting, DrawnState(_END, StateKind.FINAL, hover="a match")]
    edges = tuple(_edges(explained, statement, known))
    return AutomatonChart(slug, explained.name, _caption(explained, learned), tuple(states), edges)


def _caption(explained: Explained, learned: LearnedAutomaton | None) -> str:
    if learned is None:
        return ""
    if learned.why_not:
        return f"The model has no probabilities for this drawing: {learned.why_not}."
    return (
        "Percentages are those of the model: of the events after which the furthest partial match of a lane waited at "
        "a state, the share after which it waited at the next one."
    )


def _state(state: ExplainedState, statement: CheckedSubscription, learned: LearnedState | None) -> DrawnState:
    lines = [TextLine(f"state {state.number}", Tone.NAME)]
    hover = [f"state {state.number}"]
    for wait, text in zip(state.operators, state.waits, strict=True):
        words = _WORDS.get(wait.operator)
        lines.append(TextLine(wait.operator if words is None else f"{wait.operator} {words}"))
        lines += [TextLine(f"no {step}", Tone.NEGATED) for step in wait.absent]
        hover.append(f"waits for {text}")
        hover += [f"ends with {step}: {_condition(statement, step)}" for step in wait.absent]
    if state.found_by:
        hover.append(f"partial matches are indexed by {state.found_by}")
    hover += _moves_texts(learned)
    return DrawnState(
        f"{state.number}", StateKind.WAITING, (*lines, *_state_learned(learned, statement)), "\n".join(hover)
    )


def _condition(statement: CheckedSubscription, step: str) -> str:
    found = statement.steps.get(step)
    if found is None or not (found.conditions or found.binders):
        return "any event"
    texts = [expression_text(condition) for condition in found.conditions]
    return " AND ".join([*texts, *(f"${name} = {expression_text(value)}" for name, value in found.binders)])


def _state_learned(learned: LearnedState | None, statement: CheckedSubscription) -> tuple[TextLine, ...]:
    """How likely a match is from a state on."""
    forecast = statement.tree.forecast
    if learned is None or learned.soon is None or forecast is None:
        return ()
    return (TextLine(f"{_share(learned.soon)} within {horizon_text(forecast).lower()}", Tone.LEARNED),)


def _moves_texts(learned: LearnedState | None) -> Iterator[str]:
    """Where the next event leads to, most often first."""
    if learned is None:
        return
    yield f"learned from events of the weight {learned.events:,.0f}; the next event"
    moves = sorted(learned.moves.items(), key=lambda move: -move[1])
    if learned.match:
        yield f"  {_share(learned.match)} completes a match"
    for target, share in moves:
        yield f"  {_share(share)} leads to " + ("no partial match" if target == NOTHING else f"state {target}")


def _share(share: float) -> str:
    """
    >>> _share(0.314), _share(0.0042), _share(0.00001), _share(1.0)
    ('31%', '0.42%', '0.001%', '100%')
    """
    if isclose(share, 0.0, abs_tol=1e-12):
        return "0%"
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}" if share >= 0.0095 else f"{share * 100:.2g}%"


def _edges(
    explained: Explained, statement: CheckedSubscription, known: Mapping[int, LearnedState]
) -> Iterator[DrawnEdge]:
    """Edges with the same ends are one arrow."""
    final = {state.number for state in explained.states if state.final}
    together: defaultdict[tuple[int | None, int | None], list[ExplainedEdge]] = defaultdict(list)
    for edge in explained.edges:
        together[edge.source, None if edge.target in final else edge.target].append(edge)
    for (source, target), edges in together.items():
        steps = [(edge.step, _guard(edge)) for edge in edges]
        learned = known.get(NOTHING if source is None else source)
        share = None
        if learned is not None:
            share = learned.match if target is None else learned.moves.get(target, 0.0)
        start = _START if source is None else f"{source}"
        texts = [f"{edge.step}{': ' if edge.judged else ''}{_guard(edge)}" for edge in edges]
        if share is not None:
            texts.append(f"{_share(share)} of the events after which the furthest partial match waits there")
        lines = edge_lines(steps, "" if share is None else _share(share))
        yield DrawnEdge(start, _END if target is None else f"{target}", lines, "\n".join(texts))


def _guard(edge: ExplainedEdge) -> str:
    return " AND ".join(edge.judged)


def _clock_chart(slug: str, statement: CheckedSubscription) -> AutomatonChart:
    """A pattern of negations alone: a clock that an event of one of its steps sets back."""
    absent = statement.pattern.absent if isinstance(statement.pattern, tree.Silence) else ()
    steps = [negation.step.name for negation in absent]
    within = "" if statement.within is None else _duration(statement.within, statement)
    hover = "\n".join(f"{step}: {_condition(statement, step)}" for step in steps)
    negated = (TextLine(f"no {step}", Tone.NEGATED) for step in steps)
    lines = (TextLine("clock", Tone.NAME), TextLine(within), *negated)
    clock = DrawnState("clock", StateKind.WAITING, lines, hover)
    states = (DrawnState(_START, StateKind.START), clock, DrawnState(_END, StateKind.FINAL, hover="a match"))
    edges = (
        DrawnEdge(
            _START, "clock", (TextLine("first event", Tone.NAME),), "the first event of the lane starts the clock"
        ),
        DrawnEdge("clock", "clock", edge_lines([(step, "") for step in steps]), f"sets the clock back\n{hover}"),
        DrawnEdge("clock", _END, (TextLine("time has passed", Tone.NAME),), f"{within} without any of these events"),
    )
    return AutomatonChart(slug, statement.name, "", states, edges)


def _duration(amount: int | float, statement: CheckedSubscription) -> str:
    moments = statement.time is Type.TIMESTAMP or isinstance(statement.tree.within, tree.Span)
    return duration_text(amount / 1e6, exact=True) if moments else f"{amount:g}"


# ── LOSING ──


def losing_chart(slug: str, statement: CheckedSubscription, automaton: LossAutomaton) -> AutomatonChart:
    """The steps that are present, and the edges that pass over those that were lost. An edge that no match takes,
    because its probability cannot be high enough, is faint."""
    steps = list(dict.fromkeys(edge.target for edge in automaton.edges if edge.target is not None))
    order = {step: number for number, step in enumerate(statement.steps)}
    begin = DrawnState(_START, StateKind.START)
    present = [
        DrawnState(f"step {step}", StateKind.WAITING, (TextLine(step, Tone.NAME),), _condition(statement, step))
        for step in sorted(steps, key=lambda step: order.get(step, 0))
    ]
    states = (begin, *present, DrawnState(_END, StateKind.FINAL, hover="a match or an estimate"))
    return AutomatonChart(slug, statement.name, "", states, tuple(map(_loss_edge, automaton.edges)))


def _loss_edge(edge: LossEdge) -> DrawnEdge:
    lines = [TextLine(f"{step} lost", Tone.LOST) for step in edge.lost]
    lines += [TextLine(f"no {step}", Tone.NEGATED) for step in edge.absent]
    if edge.best is not None and (edge.lost or edge.absent):
        lines.append(TextLine(f"at best {edge.best:.3g}", Tone.LEARNED))
    texts = [line.text for line in lines]
    if edge.pruned:
        texts.append(f"no match takes it: {edge.pruned}")
    source, target = (_START if edge.source is None else f"step {edge.source}"), f"step {edge.target}"
    return DrawnEdge(
        source, _END if edge.target is None else target, tuple(lines), "\n".join(texts), faint=bool(edge.pruned)
    )


# ── correlators ──


def correlator_chart(slug: str, explained: ExplainedCorrelator) -> AutomatonChart:
    """The correlation machine as the paper draws it: circles for states, boxes for transitions."""
    first = explained.initial[0] if explained.initial else None
    numbers = sorted(explained.states, key=lambda state: (state != first, state))
    at_first = (TextLine("active at first"),)
    states = [
        DrawnState(f"q{n}", StateKind.WAITING, (TextLine(f"q{n}", Tone.NAME), *(at_first * (n in explained.initial))))
        for n in numbers
    ]
    edges: list[DrawnEdge] = []
    for number, transition in enumerate(explained.transitions):
        name = f"t{number}"
        states.append(DrawnState(name, StateKind.TRANSITION, tuple(_transition_lines(transition)), _hover(transition)))
        edges += [DrawnEdge(f"q{state}", name) for active in transition.enabling for state in active]
        edges += [DrawnEdge(name, f"q{state}") for state in transition.targets]
    known = {state.name for state in states}
    drawn = tuple(edge for edge in edges if edge.source in known and edge.target in known)
    return AutomatonChart(slug, explained.name, "", tuple(states), drawn)


def _transition_lines(transition: ExplainedTransition) -> Iterator[TextLine]:
    yield TextLine(transition.reads or "ε", Tone.NAME)
    if transition.token is not None:
        yield TextLine(f"emits {transition.token}", Tone.LEARNED)
    if transition.rounds is not None:
        yield TextLine(transition.rounds)


def _hover(transition: ExplainedTransition) -> str:
    reads = "without an event" if transition.reads is None else f"reads {transition.reads}"
    first, last = transition.clears
    enabling = " and ".join(" or ".join(f"q{state}" for state in states) for states in transition.enabling)
    cleared = f"clears q{first}" if first == last else f"clears q{first} to q{last}"
    return "\n".join([f"{transition.module}: {reads}", f"needs {enabling} active", cleared])
