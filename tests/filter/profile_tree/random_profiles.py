"""Random profiles and events over small domains, and the naive evaluation of every profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from foretell.events.types import Type
from foretell.filter.column import Column, dtype_of
from foretell.filter.profile_tree.conditions import (
    Constant,
    ValueCondition,
    above,
    among,
    at_least,
    at_most,
    below,
    between,
    equal,
    unequal,
)
from foretell.filter.profile_tree.event_distribution import JointDistribution
from foretell.filter.profile_tree.profiles import AttributeDomain, ProfileSet
from foretell.filter.string_dictionary import StringDictionary

Profile = Mapping[str, Sequence[ValueCondition]]
Event = Mapping[str, Any]

TEXTS = ("a", "b", "c", "d")
INTS = tuple(range(-3, 6))
FLOATS = (-np.inf, -2.5, -1.0, -0.0, 0.0, 5e-324, 0.5, 1.0, 1.5, 1e300, np.inf)
MOMENTS = (-(2**63), -1, 0, 10**15, 10**15 + 1, 2**63 - 1)
FLAGS = (0, 1)

VALUES: Mapping[Type, Sequence[Any]] = {
    Type.INT: INTS,
    Type.FLOAT: FLOATS,
    Type.STRING: TEXTS,
    Type.TIMESTAMP: MOMENTS,
    Type.BOOL: FLAGS,
}
DOMAINS = tuple(AttributeDomain(f"a{number}", kind) for number, kind in enumerate(VALUES))


def conditions_on(kind: Type) -> st.SearchStrategy[ValueCondition]:
    values = st.sampled_from(VALUES[kind])
    single = [values.map(equal), values.map(unequal), st.lists(values, max_size=3).map(among)]
    if kind is Type.STRING:
        return st.one_of(single)
    orders: list[Callable[[Constant], ValueCondition]] = [at_least, above, at_most, below]
    return st.one_of(*single, *[values.map(order) for order in orders], st.builds(between, values, values))


def profiles_over(domains: Sequence[AttributeDomain]) -> st.SearchStrategy[Profile]:
    return st.fixed_dictionaries({}, optional={d.name: st.lists(conditions_on(d.kind), max_size=2) for d in domains})


def events_over(domains: Sequence[AttributeDomain]) -> st.SearchStrategy[Event]:
    return st.fixed_dictionaries({d.name: st.none() | st.sampled_from(VALUES[d.kind]) for d in domains})


def some_domains() -> st.SearchStrategy[list[AttributeDomain]]:
    return st.lists(st.sampled_from(DOMAINS), min_size=1, max_size=4, unique=True)


def holds(condition: ValueCondition, value: Any) -> bool:
    """Python's own comparisons."""
    return value is not None and any(
        (r.low is None or r.low < value or (r.low == value and not r.low_open))
        and (r.high is None or value < r.high or (r.high == value and not r.high_open))
        for r in condition.ranges
    )


def naive_matches(profiles: Sequence[Profile], event: Event) -> list[int]:
    return [
        number
        for number, profile in enumerate(profiles)
        if all(holds(condition, event[name]) for name, together in profile.items() for condition in together)
    ]


def columns_of(domains: Sequence[AttributeDomain], events: Sequence[Event], strings: StringDictionary) -> list[Column]:
    columns = []
    for domain in domains:
        values = [event[domain.name] for event in events]
        numbers = [0 if v is None else strings.constant(v) if isinstance(v, str) else v for v in values]
        nulls = np.array([value is None for value in values], np.bool_)
        columns.append(Column(domain.kind, np.array(numbers, dtype_of(domain.kind)), nulls))
    return columns


def profile_set(
    domains: Sequence[AttributeDomain], profiles: Sequence[Profile], strings: StringDictionary
) -> ProfileSet:
    return ProfileSet.of(domains, profiles, strings.constant)


def nothing_known(attributes: int) -> JointDistribution:
    """A sample without events."""
    return JointDistribution.of(np.zeros((attributes, 0), np.int64), np.zeros((attributes, 0), np.bool_))
