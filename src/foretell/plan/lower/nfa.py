"""Lowering of a subscription's automaton to numbers: predicates, code, slots and register updates.

| module | lowers |
| --- | --- |
| edge_guards | the conditions of edges |
| states, run_keys | threads, counters, keys of indexes |
| register_updates | the slots that edges write |
| deferral, occurrences | negations and counts, of which some wait for the finished match |

Lowering must allocate registers in the same order in every release: snapshots refer to slots by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.deferral import Deferral
from foretell.plan.lower.edge_guards import EdgeGuards
from foretell.plan.lower.guards import GuardCompiler
from foretell.plan.lower.ir import LoweredEdge, LoweredNfa, SymbolTable
from foretell.plan.lower.program import RunExpiry, SubscriptionPlan
from foretell.plan.lower.register_updates import RegisterUpdates
from foretell.plan.lower.registers import Register, RegisterAllocator, RegisterKind, aggregate_registers
from foretell.plan.lower.scope_registers import ScopeRegisters
from foretell.plan.lower.states import StateLowering
from foretell.plan.match_selection import compares_windows
from foretell.plan.nfa.automaton import Automaton, build
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.nfa.expiry import expiries
from foretell.plan.nfa.lag_rewrite import distances, is_strict
from foretell.plan.nfa.terms import Done


def lower_nfa(
    subscription: CheckedSubscription,
    symbols: SymbolTable,
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
    profiled: bool = False,
    keyed: bool = True,
    edges: int = MOST_EDGES,
) -> LoweredNfa:
    """The NFA of a subscription, numbered by the symbol table; `parameters` are the columns of its FOR EACH table.

    With `selected` the filter evaluates the conditions on parameters for all rows at once (plan.template_selection);
    with `profiled` one executor serves all rows, whose runs part where the rows differ (plan.lower.row_levels).
    Without `keyed` no state is indexed. `edges` is the limit of the automaton.
    """
    automaton = build(subscription, edges)
    allocator = RegisterAllocator(subscription, dict(parameters or {}), symbols.slot_table)
    scopes = ScopeRegisters(subscription, allocator)
    context = LoweringContext(subscription, automaton, allocator, GuardCompiler(symbols, profiled), scopes)
    deferral = Deferral(context)
    first, last = _end_steps(automaton)
    leading = tuple({step: None for edge in automaton.edges for step in edge.leading})
    finals = _final_registers(context, leading, {first, last})
    known_distances = distances(automaton) if is_strict(automaton, subscription) else {}
    edge_guards = EdgeGuards(context, deferral, selected, known_distances)
    guards = [edge_guards.guard(edge) for edge in automaton.edges]
    register_updates = RegisterUpdates(context, deferral)
    bindings = [register_updates.bindings(edge) for edge in automaton.edges]
    later = compares_windows(subscription)
    state_lowering = StateLowering(context, deferral, keyed, trailing=not later)
    states = tuple(state_lowering.waiting_state(number, state) for number, state in enumerate(automaton.states))
    # Only now are all registers allocated, of which an edge writes every one that its event concerns.
    lowered_edges = tuple(
        LoweredEdge(edge.source, edge.target, edge.thread, guard, tuple(register_updates.updates(edge, bound)))
        for edge, guard, bound in zip(automaton.edges, guards, bindings, strict=True)
    )
    program = SubscriptionPlan(
        subscription=subscription,
        automaton=automaton,
        finals={register: number for number, register in enumerate(finals)},
        leading=leading,
        deferred=tuple(deferral.steps),
        trailing=_trailing_states(automaton) if later else {},
        remembers=deferral.counts_in_lane,
        first=first,
        last=last,
        expiries=tuple(_expiries(context)),
    )
    return LoweredNfa(program, states, lowered_edges, finals, allocator.slots)


def _trailing_states(automaton: Automaton) -> dict[str, frozenset[int]]:
    """The negated steps at the ends of matches, each with the states of the matches that it may break."""
    ends = {n: s.term.trailing for n, s in enumerate(automaton.states) if isinstance(s.term, Done)}
    steps = dict.fromkeys(step for trailing in ends.values() for step in trailing)
    return {step: frozenset(n for n, trailing in ends.items() if step in trailing) for step in steps}


def _final_registers(
    context: LoweringContext, leading: tuple[str, ...], end_steps: set[str | None]
) -> tuple[Register, ...]:
    """The registers that a finished match carries; the positions of its first and last event are known without."""
    subscription, allocator = context.subscription, context.allocator
    finals: dict[Register, Type] = {}
    for step in subscription.positive:
        if not subscription.steps[step].shape.repeated:
            position = Register(RegisterKind.POSITION, step)
            allocator.slot(position, Type.INT)
            if step not in end_steps:
                finals[position] = Type.INT
    finals |= {Register(RegisterKind.LEADING, step): Type.INT for step in leading}
    finals |= {Register(RegisterKind.VARIABLE, name): kind for name, kind in subscription.variables.items()}
    finals |= _returned_aggregates(context)
    for register, kind in finals.items():
        allocator.slot(register, kind)
    return tuple(finals)


def _returned_aggregates(context: LoweringContext) -> dict[Register, Type]:
    """The aggregates of RETURN and HAVING over repeated steps: runs update them, so that a match need not gather."""
    statement = context.subscription.tree
    expressions = [r.expression for r in statement.returns] + ([] if statement.having is None else [statement.having])
    registers: dict[Register, Type] = {}
    for node in (node for expression in expressions for node in expression.walk()):
        if isinstance(node, tree.Aggregate) and context.subscription.steps[str(node.step)].shape.repeated:
            for register in aggregate_registers(node):
                if register.kind in (RegisterKind.COUNT, RegisterKind.COUNT_PRESENT):
                    registers[register] = Type.INT
                else:
                    assert register.expression is not None
                    registers[register] = context.allocator.event_type(register.expression)
    return registers


def _expiries(context: LoweringContext) -> Iterator[RunExpiry]:
    """The expiries of states, of those since a step as far as a register holds the time of its event."""
    slots = context.allocator.slots
    for expiry in expiries(context.subscription, context.automaton):
        register = Register(RegisterKind.LAST, str(expiry.since), tree.TimeOf(tree.This()))
        if expiry.since is None:
            yield RunExpiry(expiry.state, None, expiry.amount)
        elif register in slots:
            yield RunExpiry(expiry.state, slots[register], expiry.amount)


def _end_steps(automaton: Automaton) -> tuple[str | None, str | None]:
    """The steps that every match begins and ends with, where they bind no other event."""
    edges, states = automaton.edges, automaton.states
    complete = {number for number, state in enumerate(states) if isinstance(state.term, Done)}
    ends_by_time = any(isinstance(state.term, Done) and state.term.trailing for state in states)
    first = _only_step([(edge.leaf.step, edge.source is None) for edge in edges])
    last = None if ends_by_time else _only_step([(edge.leaf.step, edge.target in complete) for edge in edges])
    return first, last


def _only_step(edges: list[tuple[str, bool]]) -> str | None:
    """The step that all chosen edges bind, if no other edge binds it; edges are given as step and whether chosen."""
    chosen = {step for step, is_chosen in edges if is_chosen}
    others = {step for step, is_chosen in edges if not is_chosen}
    return chosen.pop() if len(chosen) == 1 and not chosen & others else None
