"""Estimates of lost events in simulated worlds, beside what is true there.

A model is trained on the history of a world, and estimates are made of later events of the same world, of which some
were lost. An estimate is true where its events belong to a match of what happened; a run without LOSING over what
happened finds those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.api.forecasting import train
from foretell.api.run import run
from foretell.arguments.model import ModelLike
from foretell.arrays import Flags, Floats, Ints
from foretell.bench.workloads.lossy_worlds import STREAM, interrupted, lossy
from foretell.learn.settings import Learning
from foretell.notify.notifications import Notifications

LOSS = 0.1

#: A delay that a user gives has so many points.
_QUANTILES = 201

World = Callable[[int, np.random.Generator], pa.Table]


@dataclass(frozen=True)
class LossyPattern:
    """A sequence of steps, each with one letter, of which those in `losing` may be lost. The kind of an event is the
    letter of its step; with `of_any` each step is any event."""

    text: str
    losing: str
    within: int = 1000
    of_any: bool = False

    @property
    def _parts(self) -> list[str]:
        return [part.strip() for part in self.text.split(";")]

    @property
    def steps(self) -> list[str]:
        """The positive steps."""
        return [part for part in self._parts if not part.startswith("!")]

    def statement(self, clause: str = "", pattern: str | None = None) -> str:
        defined = ", ".join(f"{letter} AS kind = '{letter}'" for letter in sorted({p.strip("!") for p in self._parts}))
        define = "" if self.of_any else f"DEFINE {defined} "
        match = f"MATCH {pattern or self.text} {define}WITHIN {self.within}"
        return f"{STREAM} SUBSCRIBE m FROM reads PER lane {match}{clause};"

    def estimating(self, loss: float, score: str = "") -> str:
        """The statement with estimates of any probability."""
        return self.statement(f" LOSING {loss:g} OF {', '.join(self.losing)} ABOVE 0{score}")


NEGATED = LossyPattern("x ; !y ; z", "y")
BETWEEN = LossyPattern("x ; y ; z", "y")
ANY = LossyPattern("x ; y ; z", "xyz")
TWO = LossyPattern("x ; y ; w ; z", "yw")
#: Two reads of a tag with none in between: any read may be the lost one.
IN_A_ROW = LossyPattern("x ; !y ; z", "y", within=100, of_any=True)
#: The window is about as long as an instance takes.
SHORT = LossyPattern("x ; y ; z", "xyz", within=200)


@dataclass(frozen=True)
class Rows:
    """The rows of a run with LOSING: the probability of each, whether it is true, and its events."""

    predicted: Floats
    true: Flags
    events: Ints

    @classmethod
    def of(cls, found: Notifications, happened: Ints, steps: Sequence[str]) -> Rows:
        table = found.to_arrow()
        # What a withdrawn row takes back was reported with its probability before.
        table = table.filter(pa.array(table.column("kind").to_numpy(zero_copy_only=False) != "withdrawn"))
        events = events_of(table, steps)
        true = np.zeros(len(events), np.bool_)
        for present in np.unique(events >= 0, axis=0):
            own = np.all((events >= 0) == present, axis=1)
            true[own] = among(events[own][:, present], happened[:, present])
        return cls(table.column("probability").to_numpy(), true, events)

    def only(self, keep: Flags) -> Rows:
        return Rows(self.predicted[keep], self.true[keep], self.events[keep])

    @property
    def certain(self) -> Flags:
        return np.asarray(np.all(self.events >= 0, axis=1), np.bool_)


def events_of(table: pa.Table, steps: Sequence[str]) -> Ints:
    """The reads of each match, a column for each step; -1 where it has none."""
    if not len(table):
        return np.zeros((0, len(steps)), np.int64)
    return np.stack([pc.struct_field(table.column("events"), step).fill_null(-1).to_numpy() for step in steps], axis=1)


def among(rows: Ints, others: Ints) -> Flags:
    """Which rows are one of the others."""
    _, group = np.unique(np.concatenate([rows, others]), axis=0, return_inverse=True)
    group = group.ravel()
    return np.asarray(np.isin(group[: len(rows)], group[len(rows) :]), np.bool_)


@dataclass(frozen=True)
class Trial:
    """A pattern in a world, with estimates by a model of a history that lost as much as the later events, or nothing
    where it is `complete`. `history` and `later` are numbers of instances. `later_world` and `later_loss` say what has
    changed since, `deleted` which kinds of events are lost besides those that the pattern may lose."""

    pattern: LossyPattern
    world: World
    complete: bool = False
    history: int = 20_000
    later: int = 20_000
    seed: int = 1
    loss: float = LOSS
    later_world: World | None = None
    later_loss: float | None = None
    deleted: str = ""

    def rows(self) -> Rows:
        statement = self.pattern.estimating(self.loss)
        history = self.world(self.history, np.random.default_rng([self.seed, 0]))
        seen = history if self.complete else self._seen(history, self.loss, 1)
        learning = Learning(complete=self.complete, online=False)
        return self.rows_of(statement, train(statement, {"reads": seen}, learning=learning))

    def given_delay(self, score: str) -> Rows:
        """By a score that takes the end of the gap to come regardless: with the delay from x to y in the history, all
        of which is known."""
        pattern, history = self.pattern, self.world(self.history, np.random.default_rng([self.seed, 0]))
        first = replace(self.pattern, text="x ; !before ; y").statement(" RETURN t(y) - t(x) AS delay")
        first = first.replace("before AS kind = 'before'", "before AS kind = 'y'")
        found = run(first, {"reads": history}, engine="embedded").to_arrow()
        starts = np.count_nonzero(history.column("kind").to_numpy(zero_copy_only=False) == "x")
        delay = _points(pc.struct_field(found.column("bindings"), "delay").to_numpy(), len(found) / starts)
        model = {"subscriptions": {"m": {"after": {"y": delay}}}}
        return self.rows_of(pattern.estimating(self.loss, f" SCORE {score}"), model)

    def rows_of(self, statement: str, model: ModelLike) -> Rows:
        """The rows of a statement over the later events."""
        world = self.later_world or self.world
        happened = world(self.later, np.random.default_rng([self.seed, 2]))
        loss = self.loss if self.later_loss is None else self.later_loss
        # Until all windows are over.
        until = happened.column("time")[-1].as_py() + 2 * self.pattern.within
        options = {"until": until, "engine": "embedded"}
        seen = self._seen(happened, loss, 3)
        found = run(statement, {"reads": seen}, model=model, learning=Learning(online=False), **options)
        true = run(self.pattern.statement(), {"reads": happened}, **options)
        return Rows.of(found, events_of(true.to_arrow(), self.pattern.steps), self.pattern.steps)

    def _seen(self, happened: pa.Table, loss: float, number: int) -> pa.Table:
        return lossy(happened, loss, np.random.default_rng([self.seed, number]), self.pattern.losing + self.deleted)


def _points(delays: Floats, share: float) -> dict[str, object]:
    """The delay with these quantiles."""
    chances = np.linspace(0, 1, _QUANTILES)
    times, first = np.unique(np.quantile(delays, chances), return_index=True)
    return {"distribution": "points", "points": np.stack([times, chances[first]], axis=1).tolist(), "share": share}


def sometimes_interrupted(world: World) -> World:
    """The same world where one x and one z in five fail to happen."""
    return lambda count, rng: interrupted(world(count, rng), rng)
