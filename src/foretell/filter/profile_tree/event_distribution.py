"""Distributions of the events' values, P_e of section 7.2.1: a weighted sample, or attributes taken as independent.

A sample also has the conditional distributions P_e(x_j | x_1 … x_{j-1}). Distributions of single attributes
(histograms) give them only if the attributes are independent, as the paper's examples assume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.filter.profile_tree.profiles import AttributeDomain
from foretell.filter.profile_tree.value_keys import keys_of
from foretell.records import record


@record
class ValueDistribution:
    """The distribution of one attribute: keys, ascending, the probability of all up to each, and that of NULL."""

    keys: Ints
    cumulative: Floats
    null: float

    @classmethod
    def of(cls, keys: Ints, weights: Floats, null: float = 0.0) -> ValueDistribution:
        """Weights of keys in any order, and of NULL; they need not sum to 1."""
        total = float(weights.sum()) + null
        distinct, place = np.unique(keys, return_inverse=True)
        mass = np.bincount(place.reshape(-1), weights, len(distinct)) / (total or 1.0)
        return cls(distinct, np.concatenate([[0.0], np.cumsum(mass)]), null / (total or 1.0))

    def probability(self, low: Ints, high: Ints) -> Floats:
        """The probability of each closed range."""
        below = np.searchsorted(self.keys, low)
        return np.asarray(self.cumulative[np.searchsorted(self.keys, high, side="right")] - self.cumulative[below])


@record
class IndependentDistribution:
    """Distributions of the attributes, which are independent."""

    attributes: tuple[ValueDistribution, ...]

    @classmethod
    def of(
        cls, domains: Sequence[AttributeDomain], weights: Sequence[Mapping[float | None, float]]
    ) -> IndependentDistribution:
        """Of each attribute the weight of each value, and under None that of NULL. A histogram gives a value in each
        of its bins; texts have their codes."""
        found = []
        for domain, weight_of in zip(domains, weights, strict=True):
            values = [value for value in weight_of if value is not None]
            keys = keys_of(np.array(values), domain.kind)
            masses = np.array([weight_of[value] for value in values], np.float64)
            found.append(ValueDistribution.of(keys, masses, weight_of.get(None, 0.0)))
        return cls(tuple(found))


@record
class JointDistribution:
    """A weighted sample of events: a row of keys and of NULLs for each attribute; the weights sum to 1."""

    keys: Ints
    nulls: Flags
    weights: Floats

    @classmethod
    def of(cls, keys: Ints, nulls: Flags, weights: Floats | None = None) -> JointDistribution:
        """`weights` need not sum to 1; without them all events weigh the same."""
        events = keys.shape[1]
        given = np.ones(events) if weights is None else weights
        return cls(keys, nulls, given / (given.sum() if events else 1.0))

    @property
    def effective_events(self) -> float:
        """How many events of equal weight say as much as these (Kish)."""
        return 1.0 / float((self.weights**2).sum()) if len(self.weights) else 0.0

    @cached_property
    def attributes(self) -> tuple[ValueDistribution, ...]:
        """The distribution of each attribute by itself."""
        parts = zip(self.keys, self.nulls, strict=True)
        return tuple(
            ValueDistribution.of(keys[~nulls], self.weights[~nulls], float(self.weights[nulls].sum()))
            for keys, nulls in parts
        )


EventDistribution: TypeAlias = IndependentDistribution | JointDistribution
