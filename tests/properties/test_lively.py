"""Engines that are stopped and restored, and whose subscriptions come and go, on random programs and streams."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import foretell as ft
from foretell.engine import Engine
from tests.both import told
from tests.properties.patterns import Case, Chance, case

Told = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Script:
    """A program and what is pushed to it, in the order of time."""

    text: str
    pushes: tuple[tuple[str, list[dict[str, Any]]], ...]
    tables: dict[str, list[dict[str, Any]]]
    until: int | float | None

    def engine(self) -> Engine:
        return Engine(self.text, tables=self.tables)


def scripts(seeds: range) -> Iterator[tuple[int, Script]]:
    """Programs that run, each with its events in small batches. Some streams have a LATE BY."""
    for seed in seeds:
        chance = Chance(random.Random(seed).randint)
        one = script(case(chance), chance)
        try:
            whole = one.engine()
            for stream, rows in one.pushes:
                whole.push(stream, rows)
        except ft.ForetellError:
            continue
        yield seed, one


def script(one: Case, chance: Chance) -> Script:
    rows = [(row["time"], name, row) for name, some in one.streams.items() for row in some]
    rows.sort(key=lambda r: r[0])
    pushes: list[tuple[str, list[dict[str, Any]]]] = []
    for _, name, row in rows:
        if pushes and pushes[-1][0] == name and chance.maybe(30):
            pushes[-1][1].append(row)
        else:
            pushes.append((name, [row]))
    text = one.text
    if chance.maybe(25):
        late = "LATE BY 2 s;" if one.time == "TIMESTAMP" else "LATE BY 2;"
        text = re.sub(r"(STREAM [^;]*);", rf"\1 {late}", text)
    until = None if one.time == "TIMESTAMP" else one.until
    return Script(text, tuple(pushes), one.tables, until)


def finished(engine: Engine, one: Script) -> Told:
    ended = told(engine.end())
    return ended if one.until is None else [*ended, *told(engine.advance(one.until))]


def restored(engine: Engine, text: str | None = None) -> Engine:
    found = Engine.restore(text, engine.snapshot())
    assert (found.fresh, found.dropped) == ((), ())
    return found


# ── snapshots ──


def test_an_engine_may_be_stopped_after_every_batch() -> None:
    """Stopped and restored each time, it tells what one tells that goes on."""
    told_some = 0
    for seed, one in scripts(range(300)):
        whole, stopped = one.engine(), one.engine()
        for number, (stream, rows) in enumerate(one.pushes):
            stopped = restored(stopped, one.text if number % 2 else None)
            there = told(whole.push(stream, rows))
            assert told(stopped.push(stream, rows)) == there, (seed, number, one)
            told_some += len(there)
        assert finished(restored(stopped), one) == finished(whole, one), (seed, one)
        assert stopped.late == whole.late
    assert told_some > 500


def test_an_engine_may_be_stopped_anywhere() -> None:
    """Each snapshot by itself, so that none can be put right by the next."""
    for seed, one in scripts(range(300, 340)):
        whole = one.engine()
        blobs, there = [], []
        for stream, rows in one.pushes:
            blobs.append(whole.snapshot())
            there.append(told(whole.push(stream, rows)))
        there.append(finished(whole, one))
        for cut, blob in enumerate(blobs):
            engine = Engine.restore(None, blob)
            found = [told(engine.push(*push)) for push in one.pushes[cut:]]
            assert [*found, finished(engine, one)] == there[cut:], (seed, cut, one)


def test_a_snapshot_of_a_restored_engine_is_the_same() -> None:
    for _, one in scripts(range(340, 380)):
        engine = one.engine()
        for stream, rows in one.pushes:
            engine.push(stream, rows)
        blob = engine.snapshot()
        assert Engine.restore(None, blob).snapshot() == blob
