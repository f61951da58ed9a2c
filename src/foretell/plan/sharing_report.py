"""Sharing report: how many states and predicates the subscriptions of a program save by shared NFAs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from foretell.language.checked import CheckedSubscription
from foretell.plan.compile import PlanCompiler
from foretell.plan.match_plan import InputGroupPlan, MatchPlan
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.single_nfa import single_nfa
from foretell.plan.strategy import Sharing, choose_strategy


@dataclass(frozen=True)
class SharingReport:
    """The states and predicates of the subscriptions that may share, each by itself and together.

    `serving` states serve more than one subscription.
    """

    subscriptions: int
    machines: int
    states: int
    states_together: int
    serving: int
    predicates: int
    predicates_together: int

    def as_dict(self) -> dict[str, object]:
        return {"together": asdict(self)}

    def as_text(self) -> str:
        nfas = f"{self.machines} NFA{'' if self.machines == 1 else 's'}"
        return (
            f"sharing: {self.subscriptions} subscriptions in {nfas}\n"
            f"  {self.states} states merged into {self.states_together} ({self.serving} shared)\n"
            f"  {self.predicates} predicates merged into {self.predicates_together}"
        )


def sharing_report(
    statements: Iterable[CheckedSubscription], code_of: Callable[[str], int], edges: int = MOST_EDGES
) -> SharingReport:
    """The report of a plan of these statements, without those that have an executor of their own; `edges` is
    `Limits.edges`."""
    shareable = [s for s in statements if _may_share(s)]
    plan = PlanCompiler(code_of, edges=edges).extend(MatchPlan({}, {}), shareable)
    alone = [single_nfa(s, code_of, edges=edges) for s in shareable]
    merged = [nfa for group in plan.inputs.values() for nfa in _nfas(group)]
    distinct = {(key, p) for key, group in plan.inputs.items() for nfa in _nfas(group) for p in nfa.symbols.predicates}
    return SharingReport(
        len(shareable),
        len(merged),
        sum(len(nfa.states) for nfa in alone),
        sum(len(nfa.states) for nfa in merged),
        sum(nfa.shared_states for nfa in merged),
        sum(len(nfa.symbols.predicates) for nfa in alone),
        len(distinct),
    )


def _may_share(subscription: CheckedSubscription) -> bool:
    observed = subscription.tree.forecast is not None
    return choose_strategy(subscription, observed=observed).sharing.value is not Sharing.OWN


def _nfas(group: InputGroupPlan) -> list[SharedNfa]:
    return [plan.nfa for plan in group.nfa_groups if plan.nfa is not None]
