"""Plain statements: their steps compare attributes with constants and variables, and times with each other.

Whether such a statement matches follows from the sets of values alone. Each step needs an event with values in its
sets; steps that share a variable, and all steps for a PER attribute, need a value that is in the sets of all of them;
conditions on time have to hold where all events are at one time. Then every path of the pattern is a match: negations
and `,` see no other event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from foretell.check.conditions.domains import Domain, plain_domain
from foretell.events.event import Event, base_key
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStep, CheckedSubscription
from foretell.reference.expressions import Frame, holds

Domains = dict[str, Domain]


def plain_live_steps(statement: CheckedSubscription, program: CheckedProgram) -> frozenset[str]:
    """The steps that a match binds, where the statement is plain and all of them are; else none."""
    if not _has_plain_clauses(statement) or not _has_plain_sources(statement, program):
        return frozenset()
    rest = {name: _without_times(statement.steps[name], statement) for name in statement.positive}
    found = {name: plain_domains(step, statement.attributes) for name, step in rest.items()}
    domains = {name: own for name, own in found.items() if own is not None}
    if len(domains) < len(found) or not all(map(_has_plain_binders, statement.steps.values())):
        return frozenset()
    kinds = statement.attributes
    possible = all(_has_values(domain, kinds.get(n)) for own in domains.values() for n, domain in own.items())
    if possible and all(_has_values(domain, kind, valued=v) for domain, kind, v in _shared(statement, domains)):
        return frozenset(statement.positive)
    return frozenset()


def _without_times(step: CheckedStep, statement: CheckedSubscription) -> CheckedStep:
    """The step without conditions that hold where all events are at one time."""
    if statement.simultaneous or not any(
        isinstance(node, tree.TimeOf | tree.Elapsed) for c in step.conditions for node in c.walk()
    ):
        return step
    certain = not any(isinstance(n, tree.Alternation) or _is_optional(n) for n in statement.pattern.walk())
    event = Event("", {}, 0, 0, base_key(0, None, 0, 0))
    frame = Frame(statement.attributes, statement.time, this=event, first=event, last=event, seen=lambda _: [event])
    rest = tuple(c for c in step.conditions if not (certain and _is_about_time(c) and holds(c, frame)))
    return replace(step, conditions=rest)


def _is_optional(node: tree.Node) -> bool:
    return isinstance(node, tree.Repeat) and node.low == 0


def _is_about_time(condition: tree.Expression) -> bool:
    """Whether a condition names the times of events alone, and not that of the event before."""
    others = tree.Attribute, tree.Previous, tree.Aggregate, tree.Variable, tree.Parameter, tree.StreamOf, tree.Moment
    return not any(isinstance(node, others) for node in condition.walk())


def plain_domains(step: CheckedStep, kinds: Mapping[str, Type]) -> Domains | None:
    """The values of each attribute that the conditions of a step allow; None where they are not plain."""
    domains: Domains = {}
    for condition in step.conditions:
        found = plain_domain(condition, kinds)
        if found is None:
            return None
        name, domain = found
        domains[name] = domains[name] & domain if name in domains else domain
    return domains


def is_plainly_possible(step: CheckedStep, kinds: Mapping[str, Type]) -> bool:
    """Whether it is known without a solver that an event can be the step."""
    domains = plain_domains(replace(step, conditions=_without_comparisons_with_variables(step)), kinds)
    return domains is not None and all(_has_values(domain, kinds.get(name)) for name, domain in domains.items())


def _without_comparisons_with_variables(step: CheckedStep) -> tuple[tree.Expression, ...]:
    """The conditions without `attribute = $variable`, which an event can meet whatever else is asked of it, unless
    that is about the same attribute."""
    named = Counter(str(node.name) for condition in step.conditions for node in _attributes(condition))
    return tuple(condition for condition in step.conditions if not _is_free_comparison(condition, named))


def _is_free_comparison(condition: tree.Expression, named: Mapping[str, int]) -> bool:
    match condition:
        case tree.Binary(operator="=", left=tree.Attribute(event=tree.This(), name=name), right=tree.Variable()):
            return named[str(name)] == 1
        case tree.Binary(operator="=", left=tree.Variable(), right=tree.Attribute(event=tree.This(), name=name)):
            return named[str(name)] == 1
    return False


def _has_values(domain: Domain, kind: Type | None, *, valued: bool = False) -> bool:
    if domain.nullable and not valued:
        return True
    return kind is not None and domain.has_value(kind) is True


def _has_plain_clauses(statement: CheckedSubscription) -> bool:
    nodes = tree.FirstWhere | tree.Numbered
    if statement.time in (Type.UNKNOWN, Type.NULL):
        return False
    timed = statement.simultaneous and statement.within is not None
    special = any(isinstance(node, nodes) for node in statement.pattern.walk())
    return statement.tree.having is None and not timed and not special


def _has_plain_sources(statement: CheckedSubscription, program: CheckedProgram) -> bool:
    """Whether every event may have every value: no LET, no attribute of some streams alone, no condition on time."""
    named = {str(n.name) for step in statement.steps.values() for c in step.conditions for n in _attributes(c)}
    named |= {str(n.name) for step in statement.steps.values() for _, value in step.binders for n in _attributes(value)}
    for source in map(str, statement.tree.streams):
        schema = program.streams.get(source)
        if schema is None or schema.open or not named <= set(schema.attributes) or schema.time in named:
            return False
        if any(str(item.name) in named for item in program.derived.get(source, ())):
            return False
    return True


def _attributes(expression: tree.Expression) -> Iterator[tree.Attribute]:
    return (node for node in expression.walk() if isinstance(node, tree.Attribute))


def _has_plain_binders(step: CheckedStep) -> bool:
    """Whether a step binds variables to attributes, each attribute to one variable alone."""
    names = [value.name for _, value in step.binders if isinstance(value, tree.Attribute)]
    return len(names) == len(step.binders) == len(set(names))


def _shared(
    statement: CheckedSubscription, domains: Mapping[str, Domains]
) -> Iterator[tuple[Domain, Type | None, bool]]:
    """The values that several steps have in common. What shares one value in two ways is none of these."""
    per = set(map(str, statement.tree.per))
    for name in per:
        whole = Domain()
        for own in domains.values():
            whole &= own.get(name, Domain())
        yield whole, statement.attributes.get(name), False
    for variable, kind in statement.variables.items():
        shared = Domain()
        for name in statement.positive:
            for bound, value in statement.steps[name].binders:
                if bound == variable and isinstance(value, tree.Attribute):
                    shared &= domains[name].get(str(value.name), Domain())
                    if str(value.name) in per or statement.attributes.get(value.name) is not kind:
                        yield Domain(valued=False, nullable=False), kind, True
        yield shared, kind, True
