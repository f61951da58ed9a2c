"""How the conditions on single events are evaluated, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.arrivals import lower_arrivals
from foretell.plan.lower.detection import Detection, detection_of_arrivals, detection_of_nfa
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import Executor, Strategy, TemplateMode, choose_late_guards


def filter_choices(
    subscription: CheckedSubscription, strategy: Strategy, nfa: SharedNfa | None, parameters: Mapping[str, Type]
) -> Iterator[tuple[str, str, str]]:
    """The choices: subject, value and reason."""
    executor = strategy.executor.value
    if executor is Executor.ARRIVALS:
        template = strategy.template
        selected = template is not None and template.value is TemplateMode.ONE_EXECUTOR
        if nfa is not None:
            plan = lower_arrivals(subscription, len, parameters, selected=selected)
            yield _detection(detection_of_arrivals(plan))
    elif executor is Executor.NFA and nfa is not None:
        late = nfa.compiled.late
        if late is not None:
            choice = choose_late_guards(len(late.predicates), next_only=True)
            yield "later steps", "by the kernel where that is quicker", choice.why
        yield _detection(detection_of_nfa(nfa.compiled))


def _detection(detection: Detection) -> tuple[str, str, str]:
    count = len(detection.single_step)
    value = f"{count:,} predicate{'' if count == 1 else 's'} where a partial match waits" if count else "whole columns"
    return "detection", value, detection.choice.why
