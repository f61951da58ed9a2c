"""Composite subscriptions, and streams with planted partial and full matches of them (P-ToPSS, section 6).

>>> subscriptions = composites(2, length=3, pool=6, waits=1, seed=6)
>>> print(subscriptions.text())
STREAM events (time INT, kind INT) TIME time;
SUBSCRIBE cs0 FROM events MATCH s1 , s2 ; s3 DEFINE s1 AS kind = 0, s2 AS kind = 3, s3 AS kind = 5;
SUBSCRIBE cs1 FROM events MATCH s1 ; s2 , s3 DEFINE s1 AS kind = 3, s2 AS kind = 1, s3 AS kind = 1;
<BLANKLINE>

One partial and one full match of each, with irrelevant events (from 6 on) between:

>>> planted(subscriptions, partial=1, full=1, irrelevant=3, seed=2).events["kind"].to_pylist()
[6, 3, 10, 0, 3, 5, 3, 1, 1, 8, 8, 8, 11, 10, 10, 10, 10, 0]

We chose where the paper leaves details open:

- The numbers below the size of the pool are its events. An irrelevant event is any of as many numbers above them, with
  equal probability, so that it matches no primitive subscription.
- gaussian_cs: the mean is the middle of the pool, the deviation a sixth of it; numbers outside are drawn again.
- gaussian_pub: section 6.1 says that it has shorter partial matches than uniform_pub, which a bell curve in the middle
  of the range would not have. So the mean is at the shortest length, the deviation a third of the range, and lengths
  outside are drawn again: half a bell curve, on average a third of the range long.
- The partial and the full matches of one subscription come in random order. The events of one planted sequence follow
  each other also where the operator is `;`, as in the paper's Fig. 8.
- Time is the number of the event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints

STREAM = "STREAM events (time INT, kind INT) TIME time;"


@dataclass(frozen=True)
class Composites:
    """`kinds[i, k]` is the event of step k of subscription i; `later[i, k]` says whether `;` follows it, or `,`."""

    kinds: Ints
    later: Flags
    pool: int

    def text(self, *, within: int | None = None, forecast: str = "") -> str:
        """The statements. `within` is a window in events; `forecast` a clause as `FORECAST WITHIN 5 EVENTS ABOVE 0.5`.

        The paper has no windows. Without one, a partial match waits for ever after `;`.
        """
        steps = [f"s{k}" for k in range(1, self.kinds.shape[1] + 1)]
        ending = "".join(f" {part}" for part in ("" if within is None else f"WITHIN {within}", forecast) if part)
        lines = [STREAM]
        for i, (kinds, later) in enumerate(zip(self.kinds.tolist(), self.later.tolist())):
            pattern = steps[0] + "".join(f" {';' if wait else ','} {step}" for wait, step in zip(later, steps[1:]))
            define = ", ".join(f"{step} AS kind = {kind}" for step, kind in zip(steps, kinds))
            lines.append(f"SUBSCRIBE cs{i} FROM events MATCH {pattern} DEFINE {define}{ending};")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class PlantedStream:
    """A stream, and for each sequence planted in it the number of its first event, its subscription and its length."""

    events: pa.Table
    start: Ints
    subscription: Ints
    length: Ints


def composites(
    count: int = 1000, *, length: int = 10, pool: int = 50, waits: int = 2, gaussian: bool = False, seed: int = 0
) -> Composites:
    """N_cs subscriptions of Length_cs steps over a pool of N_ep events, with N_non_contiguous_op times `;`.

    The steps of *uniform_cs* have any event of the pool with equal probability; those of *gaussian_cs* prefer some.
    """
    if not 0 <= waits < length:
        raise ValueError(f"waits: expected 0 to {length - 1} (the operators between {length} steps), found {waits}")
    random = np.random.default_rng([seed, 1])
    if gaussian:
        kinds = _within(pool, lambda n: np.floor(random.normal(pool / 2, pool / 6, n)), (count, length))
    else:
        kinds = random.integers(0, pool, (count, length))
    # A random order of the operators in each row, of which the first few places are `;`.
    later = random.permuted(np.tile(np.arange(length - 1), (count, 1)), axis=1) < waits
    return Composites(kinds, later, pool)


def planted(
    subscriptions: Composites,
    *,
    partial: int = 20,
    full: int = 20,
    irrelevant: int = 100,
    gaussian: bool = False,
    seed: int = 0,
) -> PlantedStream:
    """N_pm partial and N_fm full matches of each subscription, with runs of 1 to `irrelevant` other events between.

    A partial match is the beginning of a full one, of a length from 1 to all but the last step: with equal probability
    in *uniform_pub*, the shorter the likelier in *gaussian_pub*.
    """
    random = np.random.default_rng([seed, 2])
    count, longest = subscriptions.kinds.shape
    each = partial + full
    # A subscription is drawn among those whose quota is not met. Memoryless waiting times do the same: each of the
    # remaining ones is the next with equal probability.
    when = np.cumsum(random.exponential(size=(count, each)), axis=1).ravel()
    order = np.argsort(when, kind="stable")
    subscription = order // each if each else order
    complete = (random.permuted(np.tile(np.arange(each), (count, 1)), axis=1) < full).ravel()[order]
    lengths = np.where(complete, longest, _partial_lengths(random, longest, gaussian, len(order)))
    # Heads: irrelevant events; tails: a sequence. So before each sequence there are as many runs as heads before tails.
    runs = random.geometric(0.5, len(order)) - 1
    gaps = _sums(random.integers(1, irrelevant + 1, int(runs.sum())), runs)
    start = np.cumsum(gaps + lengths) - lengths
    return PlantedStream(_events(random, subscriptions, start, subscription, lengths), start, subscription, lengths)


def _partial_lengths(random: np.random.Generator, longest: int, gaussian: bool, count: int) -> Ints:
    if longest < 2:
        return np.zeros(count, np.int64)  # one step has no partial match
    if not gaussian:
        return random.integers(1, longest, count)
    return 1 + _within(longest - 1, lambda n: np.floor(np.abs(random.normal(0, (longest - 1) / 3, n))), (count,))


def _events(
    random: np.random.Generator, subscriptions: Composites, start: Ints, subscription: Ints, lengths: Ints
) -> pa.Table:
    total = int(start[-1] + lengths[-1]) if len(start) else 0
    kinds = random.integers(subscriptions.pool, 2 * subscriptions.pool, total)
    first = np.cumsum(lengths) - lengths
    step = np.arange(int(lengths.sum())) - np.repeat(first, lengths)
    kinds[np.repeat(start, lengths) + step] = subscriptions.kinds[np.repeat(subscription, lengths), step]
    columns: dict[str, Any] = {"time": np.arange(total), "kind": kinds}
    return pa.table(columns)


def _within(size: int, draw: Callable[[int], NDArray[np.float64]], shape: tuple[int, ...]) -> Ints:
    """Whole numbers from 0 to below a size; numbers outside are drawn again."""
    drawn = draw(int(np.prod(shape)))
    while len(outside := np.flatnonzero((drawn < 0) | (drawn >= size))):
        drawn[outside] = draw(len(outside))
    return drawn.astype(np.int64).reshape(shape)


def _sums(values: Ints, lengths: Ints) -> Ints:
    """The sums of consecutive runs of values; that of an empty run is 0.

    >>> _sums(np.array([1, 2, 3]), np.array([2, 0, 1])).tolist()
    [3, 0, 3]
    """
    ends = np.concatenate([[0], np.cumsum(values)])
    after = np.cumsum(lengths)
    sums: Ints = ends[after] - ends[after - lengths]
    return sums
