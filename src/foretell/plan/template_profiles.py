"""Profiles of template rows: the values that decide which events satisfy the static conditions of a step.

Rows with equal values have one profile. Of each event an index answers which profiles it satisfies
(filter.profile_index). A comparison with a parameter is answered by the index, also one that a row may leave out by a
NULL (`:p IS NULL OR …`); any other condition is evaluated for the profiles that the index leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.condition_scope import has_parameter, is_static
from foretell.plan.expressions import event_type
from foretell.records import record


@record
class OptionalComparison:
    """The condition `expression operator :parameter`, which holds where one of the `guards` is NULL. `kind` is the type
    of the expression."""

    expression: tree.Expression
    kind: Type
    operator: str
    parameter: str
    guards: tuple[str, ...] = ()


@record
class SiteConditions:
    """The static conditions with parameters of a step, of a θ or of a negated step: the comparisons that an index
    answers, and the others."""

    comparisons: tuple[OptionalComparison, ...]
    others: tuple[tree.Expression, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The columns of the table that they name."""
        names = [name for c in self.comparisons for name in (c.parameter, *c.guards)]
        names += [node.name for c in self.others for node in c.walk() if isinstance(node, tree.Parameter)]
        return tuple(dict.fromkeys(map(str, names)))


@record
class SingleStepTemplate:
    """A template of a single step, whose matches an index finds: `common` are the conditions without parameters."""

    step: str
    common: tuple[tree.Expression, ...]
    profile: SiteConditions


def rows_apart(subscription: CheckedSubscription) -> str | None:
    """The reason why the partial matches of each row of a template are apart; None where rows may share them."""
    policy = subscription.tree.after.policy
    if policy is not tree.Policy.HOLD:
        return f"AFTER MATCH {policy.value} chooses among the matches of each row apart"
    for name, checked in subscription.steps.items():
        if checked.shape.chosen:
            return f"the choice of `{name}` is another for each row"
    for node in subscription.pattern.walk():
        match node:
            case tree.Numbered(step=step, index=index):
                return f"`{step.name}[{index}]` counts events for each row"
            case tree.Sequence(parts=(tree.SequencePart(absent=(negation, *_)), *_)):
                return f"`!{negation.step.name}` looks back to when each row was added"
    return None


def is_single_step(subscription: CheckedSubscription) -> bool:
    """Whether the pattern of a template is a single step, whose conditions are all about its event."""
    pattern = subscription.pattern
    if not isinstance(pattern, tree.Step) or subscription.variables or subscription.within is not None:
        return False
    if subscription.tree.after.policy is not tree.Policy.HOLD:
        return False
    return all(is_static(c, given=tree.Parameter) for c in subscription.steps[pattern.name].conditions)


def single_step_template(subscription: CheckedSubscription, parameters: Mapping[str, Type]) -> SingleStepTemplate:
    """A template of a single step; `parameters` are the columns of its table."""
    pattern = subscription.pattern
    assert isinstance(pattern, tree.Step), "plan.strategy chooses an index for such templates alone"
    conditions = [part for c in subscription.steps[pattern.name].conditions for part in tree.conjuncts(c)]
    common = tuple(c for c in conditions if not has_parameter(c))
    asked = [c for c in conditions if has_parameter(c)]
    return SingleStepTemplate(str(pattern.name), common, profile_conditions(subscription, asked, parameters))


def profile_conditions(
    subscription: CheckedSubscription, conditions: Iterable[tree.Expression], parameters: Mapping[str, Type]
) -> SiteConditions:
    """Static conditions with parameters, by how they are answered; `parameters` are the columns of the table."""
    comparisons: list[OptionalComparison] = []
    others: list[tree.Expression] = []
    for condition in conditions:
        guards, held = _guarded(condition)
        parts = [list(_compared(part)) for part in tree.conjuncts(held)]
        found = [
            OptionalComparison(value, event_type(subscription, value), operator, name, guards)
            for part in parts
            for value, operator, name in part
        ]
        if all(parts) and all(_is_indexed(comparison, parameters) for comparison in found):
            comparisons += found
        else:
            others.append(condition)
    return SiteConditions(tuple(comparisons), tuple(others))


def _is_indexed(comparison: OptionalComparison, parameters: Mapping[str, Type]) -> bool:
    """Whether an index answers a comparison: of texts it knows only which are equal."""
    types = {comparison.kind, parameters[comparison.parameter]}
    if types & {Type.NULL, Type.UNKNOWN}:
        return False
    return comparison.operator in ("=", "<>") or Type.STRING not in types


def _guarded(condition: tree.Expression) -> tuple[tuple[str, ...], tree.Expression]:
    """The parameters of which a NULL satisfies a condition, and the condition where none of them is NULL."""
    guards: list[str] = []
    while isinstance(condition, tree.Binary) and condition.operator == "OR":
        match condition:
            case tree.Binary(left=tree.IsNull(value=tree.Parameter(name=name), negated=False), right=rest):
                guards.append(str(name))
            case tree.Binary(left=rest, right=tree.IsNull(value=tree.Parameter(name=name), negated=False)):
                guards.append(str(name))
            case _:
                break
        condition = rest
    return tuple(guards), condition


def _compared(condition: tree.Expression) -> Iterator[tuple[tree.Expression, str, str]]:
    """The comparisons of a value of the event with a parameter that a condition consists of: value, operator, name."""
    match condition:
        case tree.Binary(operator=operator, left=value, right=tree.Parameter(name=name)):
            found = [(value, operator, str(name))]
        case tree.Binary(operator=operator, left=tree.Parameter(name=name), right=value):
            found = [(value, tree.MIRRORED_COMPARISON.get(operator, operator), str(name))]
        case tree.Between(value=value, low=tree.Parameter(name=low), high=tree.Parameter(name=high), negated=False):
            found = [(value, ">=", str(low)), (value, "<=", str(high))]
        case _:
            return
    if all(operator in tree.MIRRORED_COMPARISON and is_static(value) for value, operator, _ in found):
        yield from found
