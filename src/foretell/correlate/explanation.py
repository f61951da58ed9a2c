"""A correlator in words and as a drawing: its machine as the paper draws it, and how it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from foretell.correlate.chain_explanation import ExplainedChain, explain_chain
from foretell.correlate.correlation_machine import MachineTransition, State
from foretell.correlate.reachability import reachable_states
from foretell.correlate.running_machine import RunningMachine
from foretell.correlate.template_token_stage import common_selection
from foretell.events.types import Type
from foretell.language.checked import CheckedCorrelator
from foretell.language.correlator_events import correlator_events, step_conditions
from foretell.language.printer import expression_text

#: So many states are shown.
_SHOWN = 60


@dataclass(frozen=True)
class ExplainedTransition:
    """A transition with the numbers of states. `enabling` are sets of which each must have an active state; `clears` is
    a range of states, and `rounds` says in which rounds of a bounded repetition it is taken."""

    module: str
    enabling: tuple[tuple[State, ...], ...]
    reads: str | None
    clears: tuple[State, State]
    targets: tuple[State, ...]
    token: str | None
    rounds: str | None


@dataclass(frozen=True)
class ExplainedCorrelator:
    """`rows` says how the rows of a FOR EACH table run; None without one."""

    name: str
    steps: tuple[str, ...]
    tokens: tuple[str, ...]
    states: tuple[State, ...]
    initial: tuple[State, ...]
    transitions: tuple[ExplainedTransition, ...]
    counters: int
    form: str
    why: str
    forecast: ExplainedChain | None = None
    rows: str | None = None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def as_text(self) -> str:
        return "\n".join((self.name, *(f"  {line}" for line in self._lines())))

    def _lines(self) -> Iterator[str]:
        yield f"correlation machine: {len(self.states)} states, {len(self.transitions)} transitions" + (
            f", {self.counters} counters of rounds" if self.counters else ""
        )
        yield f"form: {self.form} ({self.why})"
        if self.rows is not None:
            yield f"rows: {self.rows}"
        yield f"steps: {', '.join(self.steps)}"
        yield f"tokens: {', '.join(self.tokens) or 'none: it never notifies'}"
        yield f"active at first: {', '.join(map(_state, self.initial))}"
        if self.forecast is not None:
            yield from self.forecast.lines()
        for transition in self.transitions[:_SHOWN]:
            yield f"{transition.module}: {_text(transition)}"
        if len(self.transitions) > _SHOWN:
            yield f"… {len(self.transitions)} transitions in all (--format json has them)"

    def as_mermaid(self) -> str:
        """States are circles and transitions boxes, as in the paper's figures; a box names what it clears."""
        lines = ["flowchart LR"]
        for state in self.states:
            ring = f'(("{_state(state)}"))' if state not in self.initial else f'((("{_state(state)}")))'
            lines.append(f"    s{state}{ring}")
        for number, transition in enumerate(self.transitions):
            reads = _escaped(transition.reads or "ε")
            label = reads if transition.token is None else f"{reads} / {_escaped(transition.token)}"
            notes = [_cleared(transition), *filter(None, [transition.rounds])]
            lines.append(f'    t{number}["{"<br/>".join([label, *notes])}"]')
            for states in transition.enabling:
                lines += [f"    s{state} {'-->' if len(states) == 1 else '-.->'} t{number}" for state in states]
            lines += [f"    t{number} --> s{state}" for state in transition.targets]
        return "\n".join(lines)


def explain_correlator(
    correlator: CheckedCorrelator, parameters: Mapping[str, Type] | None = None
) -> ExplainedCorrelator:
    """The machine of a correlator; `parameters` are the columns of its FOR EACH table, None where unknown."""
    running = RunningMachine.of(correlator.tree.expression)
    machine = running.flat.machine
    modules = machine.module.in_postorder()
    return ExplainedCorrelator(
        name=correlator.name,
        steps=machine.steps,
        tokens=running.flat.tokens,
        states=tuple(sorted(reachable_states(machine))),
        initial=machine.module.initial,
        transitions=tuple(_explained(module.name, t) for module in modules for t in module.own),
        counters=machine.counters,
        form=running.decision.value.value,
        why=running.decision.why,
        forecast=explain_chain(correlator),
        rows=None if correlator.tree.table is None else _rows(correlator, running.steps, parameters),
    )


def _rows(correlator: CheckedCorrelator, steps: Sequence[str], parameters: Mapping[str, Type] | None) -> str:
    per_row = "a machine for each row and lane, one for rows that were added together with equal values"
    if parameters is None:
        return f"{per_row}; give the table with --table to see how an event finds its rows"
    conditions = step_conditions(correlator)
    selection = common_selection([conditions[s] for s in steps], correlator_events(correlator), parameters)
    if selection is None:
        return f"{per_row}; no comparison with a parameter is in all steps: every event is tried with every row"
    compared = [f"{expression_text(c.expression)} {c.operator} :{c.parameter}" for c in selection.comparisons]
    return f"{per_row}; an index finds the rows of an event by {' and '.join(compared)}, which all steps have"


def _explained(module: str, transition: MachineTransition) -> ExplainedTransition:
    first, end = transition.clears.states
    bounds = transition.round
    rounds = None if bounds is None else f"{'in' if bounds.is_last else 'before'} the last of {bounds.rounds} rounds"
    return ExplainedTransition(
        module, transition.enabling, transition.reads, (first, end - 1), transition.targets, transition.token, rounds
    )


def _state(state: State) -> str:
    return f"q{state}"


def _text(transition: ExplainedTransition) -> str:
    enabling = " and ".join("|".join(map(_state, states)) for states in transition.enabling)
    targets = ", ".join(map(_state, transition.targets))
    parts = [
        f"{enabling} --{transition.reads or 'ε'}--> {targets}",
        _cleared(transition),
        *([] if transition.token is None else [f"emits '{transition.token}'"]),
        *filter(None, [transition.rounds]),
    ]
    return ", ".join(parts)


def _cleared(transition: ExplainedTransition) -> str:
    first, last = transition.clears
    return f"clears {_state(first)}" if first == last else f"clears {_state(first)} to {_state(last)}"


def _escaped(text: str) -> str:
    """
    >>> _escaped('a "b"')
    'a #quot;b#quot;'
    """
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
