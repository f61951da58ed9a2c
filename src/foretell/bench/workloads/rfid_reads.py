"""Reads of RFID tags at shelf, checkout and exit (AYAC, section 2.2), some of them lost: endless, in pieces.

Tags come and go independently of each other: an item is read at the shelf ('A'), mostly at the checkout ('B'), and
where it leaves the shop at the exit ('C').

>>> pieces = reads(100, 0.05, 1)
>>> piece = next(pieces)
>>> len(piece) > 0, piece.column_names
(True, ['time', 'id', 'receptor'])
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats, Ints
from foretell.engine import Engine
from foretell.records import record

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: A tag is put on a shelf so often, on average; an item that comes back has its tag again.
RETURNS = DAY

#: The delays in seconds: from shelf to checkout, from checkout to exit, and from shelf to exit where nobody pays.
TO_CHECKOUT, TO_EXIT, PAST_CHECKOUT = 20 * MINUTE, 2 * MINUTE, 10 * MINUTE

#: Of a hundred items so many are paid for, so many are stolen; the others stay in the shop.
PAID, STOLEN = 0.9, 0.05

#: The items of a piece, which has more than twice as many reads.
ITEMS = 100_000

_RECEPTORS = ("A", "B", "C")

STREAM = "STREAM reads (time TIMESTAMP, id INT, receptor STRING) TIME time;"


def _exponential(mean: float, share: float) -> dict[str, object]:
    return {"distribution": "exponential", "mean": mean, "share": share}


#: The delays that a statement with LOSING needs, as they are in the stream.
MODEL = {
    "subscriptions": {
        "theft": {
            "after": {
                "y": {"x": _exponential(TO_CHECKOUT, PAID)},
                "z": {"x": _exponential(PAST_CHECKOUT, STOLEN / (1 - PAID)), "y": _exponential(TO_EXIT, 1.0)},
            },
            "before": {
                "y": {"z": _exponential(TO_EXIT, PAID / (PAID + STOLEN))},
                "x": {"z": _exponential(PAST_CHECKOUT, 1.0), "y": _exponential(TO_CHECKOUT, 1.0)},
            },
        }
    }
}


@record
class RecoverCase:
    """The shoplifting query, over lanes of tags or, as in the paper, with a variable that all steps share; with the
    probability of losses, the window in seconds, and ABOVE."""

    lanes: bool
    loss: float
    window: float
    above: float

    @property
    def name(self) -> str:
        keyed = "PER id" if self.lanes else "id = $id"
        window = f"{self.window / HOUR:g} h" if self.window >= HOUR else f"{self.window / MINUTE:g} min"
        return f"{keyed}, loss {self.loss}, {window}, ABOVE {self.above:g}"

    def statement(self, *, plain: bool = False) -> str:
        """The statement, without LOSING where it is `plain`."""
        same = "" if self.lanes else " AND id = $id"
        steps = ", ".join(f"{step} AS receptor = '{at}'{same}" for step, at in zip("xyz", _RECEPTORS, strict=True))
        losing = "" if plain else f" LOSING {self.loss} ABOVE {self.above:g}"
        return (
            f"{STREAM} SUBSCRIBE theft FROM reads {'PER id ' if self.lanes else ''}MATCH x ; !y ; z "
            f"DEFINE {steps} WITHIN {round(self.window)} s{losing};"
        )

    def engine(self, *, plain: bool = False) -> Engine:
        return Engine(self.statement(plain=plain), model=None if plain else MODEL)


def reads(tags: int, loss: float, seed: int) -> Iterator[pa.Table]:
    """Pieces in the order of time, without end."""
    chance = np.random.default_rng(seed)
    pace = RETURNS / tags
    since, waiting = 0.0, _no_reads()
    while True:
        shelf = since + np.cumsum(chance.exponential(pace, ITEMS))
        since = shelf[-1]
        coming = _reads_of(shelf, chance.integers(0, tags, ITEMS), loss, chance)
        time, tag, at = (np.concatenate(both) for both in zip(waiting, coming, strict=True))
        order = np.argsort(time, kind="stable")
        known = np.searchsorted(time, since, sorter=order)  # later ones may come before the next piece's
        waiting = time[order[known:]], tag[order[known:]], at[order[known:]]
        order = order[:known]
        yield _table(time[order], tag[order], at[order])


def _no_reads() -> tuple[Floats, Ints, Ints]:
    return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)


def _reads_of(shelf: Floats, tag: Ints, loss: float, chance: np.random.Generator) -> tuple[Floats, Ints, Ints]:
    """The reads of items that are put on the shelf at these times, without those that are lost."""
    count = len(shelf)
    fate = chance.random(count)
    paid, leaves = fate < PAID, fate < PAID + STOLEN
    checkout = shelf + chance.exponential(TO_CHECKOUT, count)
    out = np.where(
        paid, checkout + chance.exponential(TO_EXIT, count), shelf + chance.exponential(PAST_CHECKOUT, count)
    )
    happened = np.concatenate([np.ones(count, np.bool_), paid, leaves])
    seen = happened & (chance.random(3 * count) >= loss)
    at = np.repeat(np.arange(3), count)
    return np.concatenate([shelf, checkout, out])[seen], np.tile(tag, 3)[seen], at[seen]


def _table(time: Floats, tag: Ints, at: Ints) -> pa.Table:
    receptor = pa.DictionaryArray.from_arrays(at.astype(np.int8), pa.array(_RECEPTORS))
    micros = pa.array(np.rint(time * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    return pa.table({"time": micros, "id": pa.array(tag), "receptor": receptor})
