"""Lowering of states: the threads under which they wait, their counters, and the keys of their indexes of runs."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.events.types import Type
from foretell.language import tree
from foretell.machine.kernels.layout import ANY, NEXT, WHERE
from foretell.plan.lower.context import LoweringContext
from foretell.plan.lower.deferral import Deferral
from foretell.plan.lower.ir import NO_MARK, Guard, StepCounter, Thread, WaitingState
from foretell.plan.lower.operands import EvaluationContext
from foretell.plan.lower.registers import Register, RegisterKind
from foretell.plan.lower.run_keys import RunKeys, WaitingThread
from foretell.plan.nfa.automaton import State
from foretell.plan.nfa.terms import Connector, Done, waits
from foretell.records import record


@record
class StateLowering:
    """Lowers the states of an automaton. Without `keyed`, no state is indexed; without `trailing`, the finished match
    looks for the events that break a negation at its end."""

    context: LoweringContext
    deferral: Deferral
    keyed: bool
    trailing: bool

    def waiting_state(self, number: int, state: State) -> WaitingState:
        if isinstance(state.term, Done) and not (state.term.trailing and self.trailing):
            return WaitingState((), final=True)
        waiting = self._waiting_threads(state)
        threads = tuple(self._thread(thread, state) for thread in waiting)
        counters = tuple(self._counters(number, state))
        key = None
        if self.keyed and not counters and not self.context.subscription.simultaneous:
            key = RunKeys(self.context, self.deferral).key(number, state, waiting)
        return WaitingState(threads, counters, key, waits=isinstance(state.term, Done))

    def _waiting_threads(self, state: State) -> list[WaitingThread]:
        """The threads of a state. One that is done but for a negation at the end waits for its window to pass."""
        if isinstance(state.term, Done) and state.term.trailing:
            context = EvaluationContext(self.context.allocator, None, None, state.bound)
            return [WaitingThread("", Connector(tree.Later(), state.term.trailing), context)]
        return [
            WaitingThread(wait.name, wait.connector, self.context.of_operator(state, wait, around))
            for wait, around in waits(state.term)
        ]

    def _thread(self, thread: WaitingThread, state: State) -> Thread:
        kind, where, guards = ANY, Guard(), self.context.guards
        match thread.connector.operator:
            case tree.Next():
                kind = NEXT
            case tree.FirstWhere(condition=condition):
                kind = WHERE
                where = guards.guard(tree.conjuncts(condition), thread.context)
        absent = []
        for step in thread.connector.absent:
            if self.deferral.is_deferred_negation(step, state):
                self.deferral.defer(step)
            else:
                conditions = self.context.subscription.steps[step].conditions
                absent.append(guards.guard(conditions, self.context.of_negation(step, state)))
        return Thread(kind, where, tuple(absent), self._mark(thread.name))

    def _mark(self, thread: str) -> int:
        """The slot of a thread's mark."""
        if not self.context.subscription.simultaneous:
            return NO_MARK
        return self.context.allocator.slot(Register(RegisterKind.THREAD_MARK, thread), Type.INT)

    def _counters(self, number: int, state: State) -> Iterator[StepCounter]:
        """The counters of each a[i] that a state waits for, unless it is counted on the finished match."""
        leaving = self.context.automaton.leaving(number)
        leaves = {edge.leaf: None for edge in leaving if edge.leaf.index and edge.leaf.after_previous}
        for leaf in leaves:
            if leaf in self.deferral.counts:
                continue
            slot = self.context.allocator.slot(Register(RegisterKind.OCCURRENCES, leaf.step), Type.INT)
            threads = (wait.name for wait, _ in waits(state.term) if any(a.leaf == leaf for a in wait.alternatives))
            mark = next(map(self._mark, threads), NO_MARK)  # a side of `&` that has not begun does not sleep
            context = EvaluationContext(self.context.allocator, leaf.step, leaf.step, state.bound)
            counted = self.context.guards.guard(self.context.subscription.steps[leaf.step].counted, context)
            yield StepCounter(slot, counted, mark)
