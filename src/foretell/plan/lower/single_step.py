"""The plan of a template of a single step, whose matches an index of its rows finds."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.template_profiles import SingleStepTemplate, single_step_template
from foretell.records import record


@record
class SingleStepPlan:
    """The plan of foretell.machine.exec.profile_executor. `program` is what is asked of a match."""

    program: SubscriptionPlan
    template: SingleStepTemplate

    @property
    def parameters(self) -> tuple[str, ...]:
        """The columns of the table that are needed: for the index, and for the results."""
        return tuple(dict.fromkeys((*self.template.profile.parameters, *self.program.post_match.parameters)))


def lower_single_step(
    subscription: CheckedSubscription, parameters: Mapping[str, Type], edges: int = MOST_EDGES
) -> SingleStepPlan:
    """The plan of a subscription for which foretell.plan.strategy chose a profile index."""
    template = single_step_template(subscription, parameters)
    automaton, step = build(subscription, edges), template.step
    return SingleStepPlan(SubscriptionPlan(subscription, automaton, {}, (), (), first=step, last=step), template)
