"""Profiles: conjunctions of conditions, one for each attribute that a profile cares about, as columns of key ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.profile_tree.conditions import Constant, ValueCondition, ValueRange, unequal
from foretell.filter.profile_tree.value_keys import LAST_KEY, LEAST_KEY, key_of
from foretell.records import record


@record
class AttributeDomain:
    """The domain of an attribute. `low` and `high` are its declared bounds, `distinct` the number of its texts; where
    they are None, measures A1 and A2 take what profiles and events show."""

    name: str
    kind: Type
    low: float | None = None
    high: float | None = None
    distinct: int | None = None


@record
class AttributeRanges:
    """The ranges of all profiles on one attribute: those of profile p are `start[p]` to `start[p + 1]`, ascending and
    disjoint. A profile that cares and has no range is never true."""

    start: Ints
    low: Ints
    high: Ints
    cares: Flags

    @classmethod
    def of_columns(cls, low: Ints, high: Ints, cares: Flags) -> AttributeRanges:
        """At most one range for each profile, as closed bounds in keys; that of a profile which does not care means
        nothing."""
        has_range = cares & (low <= high)
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(has_range)])
        return cls(start, low[has_range], high[has_range], cares)

    def of(self, profiles: Ints) -> Ints:
        """The numbers of the profiles' ranges."""
        counts = self.start[profiles + 1] - self.start[profiles]
        begins = np.cumsum(counts) - counts
        offsets: Ints = np.repeat(self.start[profiles] - begins, counts)
        return offsets + np.arange(len(offsets))

    def profile_of_range(self) -> Ints:
        return np.repeat(np.arange(len(self.cares)), np.diff(self.start))


@record
class ProfileSet:
    """`count` profiles with their ranges, attribute by attribute in the order of `domains`."""

    domains: tuple[AttributeDomain, ...]
    count: int
    attributes: tuple[AttributeRanges, ...]

    @classmethod
    def of(
        cls,
        domains: Sequence[AttributeDomain],
        profiles: Sequence[Mapping[str, ValueCondition | Sequence[ValueCondition]]],
        code_of: Callable[[str], int] | None = None,
    ) -> ProfileSet:
        """Profiles by the names of attributes; several conditions on an attribute must all be true. `code_of` gives
        the code of a text in the dictionary of the events, which must hold the text as long as the tree is used."""
        names = [domain.name for domain in domains]
        for number, profile in enumerate(profiles):
            if unknown := sorted(set(profile) - set(names)):
                raise ValueError(f"profile {number} has a condition on '{unknown[0]}', no attribute of {names}")
        columns = [[_conjunction(profile.get(d.name), d, code_of) for profile in profiles] for d in domains]
        return cls(tuple(domains), len(profiles), tuple(_attribute_ranges(column) for column in columns))


def profiles_of_boxes(domains: Sequence[AttributeDomain], starts: Ints, axis: Ints, bounds: Ints) -> ProfileSet:
    """Profiles as boxes: of each the axes that it cares about, `axis[starts[p]:starts[p + 1]]`, none of them twice, and
    in `bounds` the least and the greatest key on each."""
    count = len(starts) - 1
    profile = np.repeat(np.arange(count), np.diff(starts))
    attributes = []
    for number in range(len(domains)):
        on_axis = axis == number
        ranges = np.zeros((count, 2), np.int64)
        ranges[profile[on_axis]] = bounds[on_axis]
        cares = np.zeros(count, np.bool_)
        cares[profile[on_axis]] = True
        attributes.append(AttributeRanges.of_columns(ranges[:, 0], ranges[:, 1], cares))
    return ProfileSet(tuple(domains), count, tuple(attributes))


#: The closed key ranges of a conjunction, ascending and disjoint.
_KeyRanges = list[tuple[int, int]]


def _conjunction(
    conditions: ValueCondition | Sequence[ValueCondition] | None,
    domain: AttributeDomain,
    code_of: Callable[[str], int] | None,
) -> _KeyRanges | None:
    """The ranges where all conditions are true; None where there is no condition: the profile does not care."""
    if conditions is None:
        return None
    together = [conditions] if isinstance(conditions, ValueCondition) else list(conditions)
    if not together:
        return None
    ranges = [(LEAST_KEY, LAST_KEY)]
    for condition in together:
        if domain.kind is Type.STRING and _compares_order(condition):
            raise ValueError(f"'{domain.name}' is STRING: a profile tree has only =, <> and IN for texts")
        ranges = _intersection(ranges, _union([_key_range(r, domain, code_of) for r in condition.ranges]))
    return ranges


def _compares_order(condition: ValueCondition) -> bool:
    """Whether the order of values matters: it does not for single values, nor for all values but one."""
    if len(condition.ranges) == 2 and condition == unequal(condition.ranges[0].high or ""):
        return False
    return any(r.low is None or r.low != r.high for r in condition.ranges)


def _key_range(values: ValueRange, domain: AttributeDomain, code_of: Callable[[str], int] | None) -> tuple[int, int]:
    low = LEAST_KEY if values.low is None else _key(values.low, domain, code_of) + values.low_open
    high = LAST_KEY if values.high is None else _key(values.high, domain, code_of) - values.high_open
    return low, high


def _key(value: Constant, domain: AttributeDomain, code_of: Callable[[str], int] | None) -> int:
    if isinstance(value, str):
        if domain.kind is not Type.STRING or code_of is None:
            raise ValueError(f"'{domain.name}' is {domain.kind.value} and cannot be compared with the text {value!r}")
        return code_of(value)
    if domain.kind is Type.STRING:
        raise ValueError(f"'{domain.name}' is STRING and cannot be compared with the number {value!r}")
    if domain.kind is not Type.FLOAT and value != int(value):
        raise ValueError(f"'{domain.name}' is {domain.kind.value}; make its domain FLOAT to compare it with {value!r}")
    return key_of(value, domain.kind)


def _union(ranges: _KeyRanges) -> _KeyRanges:
    """Ranges ascending; those that overlap or touch are one."""
    merged: _KeyRanges = []
    for low, high in sorted(r for r in ranges if r[0] <= r[1]):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _intersection(left: _KeyRanges, right: _KeyRanges) -> _KeyRanges:
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return sorted(r for r in both if r[0] <= r[1])


def _attribute_ranges(column: list[_KeyRanges | None]) -> AttributeRanges:
    counts = [0 if ranges is None else len(ranges) for ranges in column]
    flat = np.array([r for ranges in column if ranges for r in ranges], np.int64).reshape(-1, 2)
    return AttributeRanges(
        start=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        low=flat[:, 0].copy(),
        high=flat[:, 1].copy(),
        cares=np.array([ranges is not None for ranges in column], np.bool_),
    )
