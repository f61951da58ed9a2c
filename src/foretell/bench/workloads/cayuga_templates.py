"""The technical benchmark of Cayuga (section 4.1, Table 3): five templates of three steps, each row with conditions of
its own in every step.

A row has two equalities on discrete attributes and two ranges of continuous ones in each step. One of the equalities
is the primary predicate, the same in all three. Attributes are drawn by `skews[0]`, values of step i by `skews[i]`.

We chose where the paper leaves details open:

- Ranges are closed, 0.7 of the domain wide, with 25 equidistant beginnings.
- The parameterised predicate of `LinearDyn` compares the first continuous attribute with a multiple of that of the step
  before; the factors are 25, from 0.5 to 1.5.
- DUR counts clock ticks, so that `DUR <= 20` is `WITHIN 19`, where time is the number of the event. What comes later
  cannot match any more; Cayuga keeps such instances for ever.
- `NonDeterministic` takes the events in between with steps that repeat, `x*` and `y*`, as its rebind edges do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.bench.workloads.conjunctions import (
    RANGES,
    SELECTIVITY,
    optional_values,
    range_starts,
    zipf,
    zipf_orders,
)

ATTRIBUTES = 4  # discrete ones, and as many continuous ones
STEPS = ("a", "b", "c")
TICKS = 20


class CayugaTemplate(Enum):
    """The templates, by their names in the paper."""

    LINEAR_STAT = "LinearStat"
    LINEAR_DYN = "LinearDyn"
    FILTER = "Filter"
    NON_DETERMINISTIC = "NonDeterministic"
    NON_DETERMINISTIC_AGG = "NonDeterministicAgg"

    @property
    def iterates(self) -> bool:
        return self in (CayugaTemplate.NON_DETERMINISTIC, CayugaTemplate.NON_DETERMINISTIC_AGG)


@dataclass(frozen=True)
class CayugaBenchmark:
    """The parameters of Table 3 with their defaults: `values` of a discrete attribute, the `selectivity` of a range,
    and the Zipf parameters of the three steps."""

    values: int = 100
    selectivity: float = SELECTIVITY
    skews: tuple[float, float, float] = (1.0, 1.0, 0.8)

    def subscriptions(self, count: int) -> pa.Table:
        """The FOR EACH table; rows that leave an attribute out have NULL there."""
        chance = np.random.default_rng([3, count])
        order = zipf_orders(chance, self.skews[0], ATTRIBUTES, count)
        primary, value = order[:, 0], zipf(chance, self.skews[0], self.values, count)
        columns: dict[str, Any] = {"id": np.arange(count)}
        for k in range(ATTRIBUTES):
            columns[f"p{k}"] = optional_values(value, primary == k)
        for step, skew in zip(STEPS, self.skews):
            columns |= self._step(chance, step, skew, primary, value)
        return pa.table(columns)

    def _step(self, chance: np.random.Generator, step: str, skew: float, primary: Ints, value: Ints) -> dict[str, Any]:
        """The parameters of one step: the primary predicate, one more equality, two ranges, and a factor."""
        count = len(primary)
        order = zipf_orders(chance, self.skews[0], ATTRIBUTES, count)
        further = np.where(order[:, 0] == primary, order[:, 1], order[:, 0])
        continuous = zipf_orders(chance, self.skews[0], ATTRIBUTES, count)[:, :2]
        starts = range_starts(self.selectivity)
        columns: dict[str, Any] = {}
        for k in range(ATTRIBUTES):
            own = zipf(chance, skew, self.values, count)
            columns[f"{step}_d{k}"] = optional_values(
                np.where(primary == k, value, own), (primary == k) | (further == k)
            )
        for k in range(ATTRIBUTES):
            chosen, begin = (continuous == k).any(axis=1), starts[zipf(chance, skew, RANGES, count)]
            columns[f"{step}_c{k}_from"] = optional_values(begin, chosen)
            columns[f"{step}_c{k}_to"] = optional_values(begin + self.selectivity, chosen)
        columns[f"{step}_factor"] = np.linspace(0.5, 1.5, RANGES)[zipf(chance, skew, RANGES, count)]
        return columns

    def table(self, template: CayugaTemplate, subscriptions: pa.Table) -> pa.Table:
        """The columns that a template reads."""
        names = ["id"]
        if template not in (CayugaTemplate.LINEAR_STAT, CayugaTemplate.LINEAR_DYN):
            names += [f"p{k}" for k in range(ATTRIBUTES)]
        for step in STEPS:
            names += [name for name in subscriptions.column_names if name.startswith((f"{step}_d", f"{step}_c"))]
        if template is CayugaTemplate.LINEAR_DYN:
            names += [f"{step}_factor" for step in STEPS[1:]]
        return subscriptions.select(names)

    def events(self, count: int, first: int = 0) -> pa.Table:
        """Events with uniform values; `time` is the number of the event."""
        chance = np.random.default_rng([4, first])
        columns: dict[str, Any] = {"time": np.arange(first, first + count)}
        columns |= {f"d{k}": chance.integers(0, self.values, count) for k in range(ATTRIBUTES)}
        return pa.table(columns | {f"c{k}": chance.random(count) for k in range(ATTRIBUTES)})

    def levels(self, subscriptions: pa.Table) -> tuple[int, ...]:
        """How many nodes merging leaves on each level: steps of equal conditions after equal steps."""
        columns = self.table(CayugaTemplate.LINEAR_STAT, subscriptions)
        prefixes = [tuple(f"{step}_" for step in STEPS[: level + 1]) for level in range(len(STEPS))]
        paths = [[name for name in columns.column_names if name.startswith(prefix)] for prefix in prefixes]
        return tuple(columns.select(path).group_by(path).aggregate([]).num_rows for path in paths)


_STREAM = ", ".join(
    ["time INT", *(f"d{k} INT" for k in range(ATTRIBUTES)), *(f"c{k} FLOAT" for k in range(ATTRIBUTES))]
)


def text(template: CayugaTemplate) -> str:
    """The statement of a template.

    >>> print(text(CayugaTemplate.FILTER)[:190])
    STREAM events (time INT, d0 INT, d1 INT, d2 INT, d3 INT, c0 FLOAT, c1 FLOAT, c2 FLOAT, c3 FLOAT) TIME time;
    SUBSCRIBE matches FOR EACH wanted FROM events
    MATCH a ;{(:p0 IS NULL OR d0
    """
    conditions = {step: _condition(step) for step in STEPS}
    if template is CayugaTemplate.LINEAR_DYN:
        for before, step in pairwise(STEPS):
            conditions[step] += f" AND c0 >= :{step}_factor * {before}.c0"
    define = ",\n       ".join(f"{step} AS {condition}" for step, condition in conditions.items())
    ending = "" if template in (CayugaTemplate.LINEAR_STAT, CayugaTemplate.LINEAR_DYN) else f"\nWITHIN {TICKS - 1}"
    return (
        f"STREAM events ({_STREAM}) TIME time;\nSUBSCRIBE matches FOR EACH wanted FROM events\n"
        f"MATCH {_pattern(template)}\nDEFINE {define}{ending}{_returned(template)};\n"
    )


def _condition(step: str) -> str:
    """θ of one step."""
    equal = [f"(:{step}_d{k} IS NULL OR d{k} = :{step}_d{k})" for k in range(ATTRIBUTES)]
    within = [
        f"(:{step}_c{k}_from IS NULL OR c{k} BETWEEN :{step}_c{k}_from AND :{step}_c{k}_to)" for k in range(ATTRIBUTES)
    ]
    return " AND ".join([*equal, *within])


def _pattern(template: CayugaTemplate) -> str:
    if template in (CayugaTemplate.LINEAR_STAT, CayugaTemplate.LINEAR_DYN):
        return "a , b , c"
    primary = " AND ".join(f"(:p{k} IS NULL OR d{k} = :p{k})" for k in range(ATTRIBUTES))
    following = f";{{{primary}}}"
    if template.iterates:
        return f"a {following} x* {following} b {following} y* {following} c"
    return f"a {following} b {following} c"


def _returned(template: CayugaTemplate) -> str:
    """Sums of the continuous attributes over all events of a match."""
    if template is not CayugaTemplate.NON_DETERMINISTIC_AGG:
        return ""
    sums = [
        f"a.c{k} + coalesce(sum(x.c{k}), 0) + b.c{k} + coalesce(sum(y.c{k}), 0) + c.c{k} AS total{k}"
        for k in range(ATTRIBUTES)
    ]
    return f"\nRETURN {', '.join(sums)}"
