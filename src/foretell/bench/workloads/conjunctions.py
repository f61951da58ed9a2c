"""Subscriptions on single events, many of them: FOR EACH tables of conjunctions, and uniform events.

A row of the table that leaves an attribute out has NULL there. With 100,000 subscriptions an event of `F1` matches
about five, of `F2` 0.15, of `F3` a half.

>>> print(F3.text)
STREAM events (time INT, name STRING, price FLOAT) TIME time;
SUBSCRIBE matches FOR EACH wanted FROM events MATCH a
DEFINE a AS name = :name AND price > :price_above;
<BLANKLINE>
>>> F3.subscriptions(2).column_names
['id', 'name', 'price_above']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints
from foretell.events.ingest.raw_columns import ArrowArray

Columns = dict[str, Any]


@dataclass(frozen=True)
class Conjunctions:
    """A workload. A subscription fixes one of the sets `keys` of attributes by equality, and bounds others.

    `sizes` has the number of values of each attribute with equalities, `bounded` the attributes with ranges (of FLOAT
    from 0 to 1); with `optional` a row may leave any attribute out. `rows` makes the parameters of so many
    subscriptions. `texts` has the attributes whose values are texts.
    """

    name: str
    sizes: Mapping[str, int]
    bounded: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    rows: Callable[[np.random.Generator, int], Columns]
    optional: bool = True
    closed: bool = True
    texts: frozenset[str] = field(default=frozenset())

    @property
    def stream(self) -> str:
        attributes = [f"{name} {'STRING' if name in self.texts else 'INT'}" for name in self.sizes]
        return ", ".join(["time INT", *attributes, *(f"{name} FLOAT" for name in self.bounded)])

    @property
    def text(self) -> str:
        """The statements."""
        conditions = [self._condition(f"{name} = :{name}", name) for name in self.sizes]
        for name in self.bounded:
            if self.closed:
                comparison = f"{name} BETWEEN :{name}_from AND :{name}_to"
                conditions.append(self._condition(comparison, f"{name}_from"))
            else:
                conditions.append(self._condition(f"{name} > :{name}_above", f"{name}_above"))
        return (
            f"STREAM events ({self.stream}) TIME time;\n"
            f"SUBSCRIBE matches FOR EACH wanted FROM events MATCH a\nDEFINE a AS {' AND '.join(conditions)};\n"
        )

    def _condition(self, comparison: str, parameter: str) -> str:
        return f"(:{parameter} IS NULL OR {comparison})" if self.optional else comparison

    def subscriptions(self, count: int) -> pa.Table:
        """The FOR EACH table, with the numbers of the subscriptions as ids."""
        columns = self.rows(np.random.default_rng([1, count]), count)
        found: Columns = {"id": np.arange(count)}
        return pa.table(found | {name: self._values(name, values) for name, values in columns.items()})

    def events(self, count: int, first: int = 0) -> pa.Table:
        """Events whose values have equal probability and are independent; `time` is the number of the event."""
        chance = np.random.default_rng([2, first])
        columns: Columns = {"time": np.arange(first, first + count)}
        for name, size in self.sizes.items():
            columns[name] = self._values(name, chance.integers(0, size, count))
        return pa.table(columns | {name: chance.random(count) for name in self.bounded})

    def _values(self, name: str, values: Any) -> Any:
        if name not in self.texts:
            return values
        labels = pa.array([f"N{number:03d}" for number in range(self.sizes[name])])
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), labels).cast(pa.string())


# ── parts that workloads share ──


def zipf(chance: np.random.Generator, skew: float, size: int, count: int) -> Ints:
    """Numbers below a size of which number k has a probability proportional to 1 / (k + 1) ** skew."""
    shares = np.cumsum(1.0 / np.arange(1, size + 1) ** skew)
    drawn: Ints = np.searchsorted(shares, chance.random(count) * shares[-1], side="right")
    return np.minimum(drawn, size - 1)


def zipf_orders(chance: np.random.Generator, skew: float, size: int, count: int) -> Ints:
    """Orders of numbers below a size: each place is drawn as in `zipf` from those that are left."""
    # The least of independent exponential times is k with a probability proportional to its rate.
    rates = 1.0 / np.arange(1, size + 1) ** skew
    return np.argsort(chance.exponential(size=(count, size)) / rates, axis=1)


def optional_values(values: NDArray[Any], chosen: Flags) -> ArrowArray:
    """Values of the chosen rows, NULL in the others."""
    found: ArrowArray = pa.array(values, mask=~chosen)
    return found


#: Table 3 of Cayuga: the distinct ranges of a continuous attribute, and the part of its domain that each selects.
RANGES, SELECTIVITY = 25, 0.7


def range_starts(selectivity: float) -> Floats:
    """Where the ranges begin, so that all of them lie in the domain."""
    return np.linspace(0.0, 1.0 - selectivity, RANGES)


def _cayuga_rows(chance: np.random.Generator, count: int) -> Columns:
    """One θ of the paper's technical benchmark: two equalities and two ranges."""
    columns: Columns = {}
    discrete = zipf_orders(chance, 1.0, 4, count)[:, :2]
    continuous = zipf_orders(chance, 1.0, 4, count)[:, :2]
    starts = range_starts(SELECTIVITY)
    for k in range(4):
        columns[f"d{k}"] = optional_values(zipf(chance, 1.0, 100, count), (discrete == k).any(axis=1))
    for k in range(4):
        chosen, begin = (continuous == k).any(axis=1), starts[zipf(chance, 1.0, RANGES, count)]
        columns[f"c{k}_from"] = optional_values(begin, chosen)
        columns[f"c{k}_to"] = optional_values(begin + SELECTIVITY, chosen)
    return columns


_F2_SIZES = {f"e{size}": size for size in (35, 50, 100, 200, 350, 500, 700, 1_000)}
_F2_BOUNDED = tuple(f"r{k}" for k in range(4))


def _le_subscribe_rows(chance: np.random.Generator, count: int) -> Columns:
    """Five predicates: two or three equalities, and ranges of a tenth to six tenths of the domain."""
    columns: Columns = {}
    equalities = chance.integers(2, 4, count)
    place = np.argsort(np.argsort(chance.random((count, len(_F2_SIZES))), axis=1), axis=1)
    for k, (name, size) in enumerate(_F2_SIZES.items()):
        columns[name] = optional_values(chance.integers(0, size, count), place[:, k] < equalities)
    place = np.argsort(np.argsort(chance.random((count, len(_F2_BOUNDED))), axis=1), axis=1)
    for k, name in enumerate(_F2_BOUNDED):
        chosen = place[:, k] < 5 - equalities
        width = chance.uniform(0.1, 0.6, count)
        begin = chance.random(count) * (1 - width)
        columns[f"{name}_from"] = optional_values(begin, chosen)
        columns[f"{name}_to"] = optional_values(begin + width, chosen)
    return columns


def _alert_rows(chance: np.random.Generator, count: int) -> Columns:
    return {"name": chance.integers(0, 1_000, count), "price_above": chance.uniform(0.99, 1.0, count)}


#: Cayuga's eight attributes (Table 3): two equalities out of four and two ranges out of four.
F1 = Conjunctions(
    "F1",
    {f"d{k}": 100 for k in range(4)},
    tuple(f"c{k}" for k in range(4)),
    tuple(combinations((f"d{k}" for k in range(4)), 2)),
    _cayuga_rows,
)
#: Conjunctions of five, as Le Subscribe has them: equalities over 35 to 1,000 values, and ranges.
F2 = Conjunctions(
    "F2",
    _F2_SIZES,
    _F2_BOUNDED,
    tuple(names for n in (2, 3) for names in combinations(_F2_SIZES, n)),
    _le_subscribe_rows,
)
#: An equality and a threshold, in every row.
F3 = Conjunctions(
    "F3",
    {"name": 1_000},
    ("price",),
    (("name",),),
    _alert_rows,
    optional=False,
    closed=False,
    texts=frozenset({"name"}),
)

WORKLOADS = (F1, F2, F3)
