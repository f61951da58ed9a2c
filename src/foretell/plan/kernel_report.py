"""How the events of a statement find partial matches, and which loop runs them, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.plan.lower.row_levels import RowLevels
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import Executor, Kernel, Strategy, choose_keys


def kernel_choices(strategy: Strategy, nfa: SharedNfa | None) -> Iterator[tuple[str, str, str]]:
    """The choices by the flattened NFA, which others may share: subject, value and reason."""
    match strategy.executor.value:
        case Executor.ARRIVALS:
            why = "the one kernel of arrival lists, from the last step backwards"
            yield "kernel", Kernel.ARRIVAL_WALK.value, why
        case Executor.ABSENCE:
            yield "kernel", Kernel.ABSENCE.value, "the one kernel of absence clocks"
        case Executor.NFA if nfa is not None:
            kernel, reverse_scan = nfa.compiled.kernel.kernel, nfa.compiled.kernel.reverse_scan
            yield "kernel", kernel.value.value, kernel.why
            if kernel.value.next_only:
                yield "reverse scan", "for some batches" if reverse_scan.value else "no", reverse_scan.why
                return
            keyed = choose_keys(nfa, observed=strategy.observation is not None)
            indexed = any(state.waiting.key is not None for state in nfa.states)
            yield "key index", "yes" if indexed else "no", keyed.why
            if nfa.compiled.rows is not None:
                yield _profile_lists(nfa.compiled.rows)


def _profile_lists(rows: RowLevels) -> tuple[str, str, str]:
    """The choice of how an event finds partial matches that carry rows of a template."""
    count = len(rows.index.value)
    value = f"at {count} state{'' if count == 1 else 's'}" if count else "no"
    return "profile lists", value, rows.index.why
