"""Engines that are stopped and restored, and whose subscriptions come and go, on random programs and streams."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import foretell as ft
from foretell.engine import Engine
from tests.engine_pair import comparable_rows
from tests.properties.patterns import COLUMNS, Case, Chance, Maker, case, random_rows

Rows = list[tuple[Any, ...]]


def seeds(few: int, many: int) -> pytest.MarkDecorator:
    """Few programs are tried each time, as each is run again and again."""
    soak = pytest.param(range(1_000, 1_000 + many), marks=[pytest.mark.soak, pytest.mark.timeout(0)], id="for long")
    return pytest.mark.parametrize("numbers", [pytest.param(range(few), id="quickly"), soak])


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
        trial = script(case(chance), chance)
        try:
            whole = trial.engine()
            for stream, rows in trial.pushes:
                whole.push(stream, rows)
        except ft.ForetellError:
            continue
        yield seed, trial


def script(trial: Case, chance: Chance) -> Script:
    rows = [(row["time"], name, row) for name, streams_given in trial.streams.items() for row in streams_given]
    rows.sort(key=lambda r: r[0])
    pushes: list[tuple[str, list[dict[str, Any]]]] = []
    for _, name, row in rows:
        if pushes and pushes[-1][0] == name and chance.maybe(30):
            pushes[-1][1].append(row)
        else:
            pushes.append((name, [row]))
    text = trial.text
    if chance.maybe(25):
        late = "LATE BY 2 s;" if trial.time == "TIMESTAMP" else "LATE BY 2;"
        text = re.sub(r"(STREAM [^;]*);", rf"\1 {late}", text)
    until = None if trial.time == "TIMESTAMP" else trial.until
    return Script(text, tuple(pushes), trial.tables, until)


def finished(engine: Engine, scenario: Script) -> Rows:
    ended = comparable_rows(engine.end())
    return ended if scenario.until is None else [*ended, *comparable_rows(engine.advance(scenario.until))]


def restored(engine: Engine, text: str | None = None) -> Engine:
    found = Engine.restore(text, engine.snapshot())
    assert (found.fresh, found.dropped) == ((), ())
    return found


# ── snapshots ──


@seeds(30, 2_000)
def test_an_engine_may_be_stopped_after_every_batch(numbers: range) -> None:
    """Stopped and restored each time, it tells what one tells that goes on."""
    told_some = 0
    for seed, scenario in scripts(numbers):
        whole, stopped = scenario.engine(), scenario.engine()
        for number, (stream, rows) in enumerate(scenario.pushes):
            stopped = restored(stopped, scenario.text if number % 2 else None)
            separate = comparable_rows(whole.push(stream, rows))
            assert comparable_rows(stopped.push(stream, rows)) == separate, (seed, number, scenario)
            told_some += len(separate)
        assert finished(restored(stopped), scenario) == finished(whole, scenario), (seed, scenario)
        assert stopped.late == whole.late
    assert told_some > len(numbers)


@seeds(8, 300)
def test_an_engine_may_be_stopped_anywhere(numbers: range) -> None:
    """Each snapshot by itself, so that none can be put right by the next."""
    for seed, scenario in scripts(numbers):
        whole = scenario.engine()
        blobs, separate = [], []
        for stream, rows in scenario.pushes:
            blobs.append(whole.snapshot())
            separate.append(comparable_rows(whole.push(stream, rows)))
        separate.append(finished(whole, scenario))
        for cut, blob in enumerate(blobs):
            engine = Engine.restore(None, blob)
            found = [comparable_rows(engine.push(*push)) for push in scenario.pushes[cut:]]
            assert [*found, finished(engine, scenario)] == separate[cut:], (seed, cut, scenario)


# ── subscriptions that come and go ──


@dataclass(frozen=True)
class Company:
    """Streams, statements that are there all the time, one that comes and goes, and events with names of their own."""

    streams: str
    others: tuple[str, ...]
    late: str
    tables: dict[str, list[dict[str, Any]]]
    pushes: tuple[tuple[str, list[dict[str, Any]]], ...]


def companies(seeds: range) -> Iterator[tuple[int, Company, random.Random]]:
    for seed in seeds:
        generator = random.Random(seed)
        scenario = company(Chance(generator.randint))
        try:
            tell(
                Engine("".join([scenario.streams, *scenario.others, scenario.late]), tables=scenario.tables),
                scenario.pushes,
            )
        except ft.ForetellError:
            continue
        yield seed, scenario, generator


def company(chance: Chance) -> Company:
    time = chance.pick("INT", "INT", "FLOAT", "TIMESTAMP")
    ties = " TIES SIMULTANEOUS" if chance.maybe(15) else ""
    columns = f"time {time}, {COLUMNS}, nr INT"
    rows = sorted(
        ((row["time"], name, row) for name in "su" for row in random_rows(chance, 8, time, order=False, named=False)),
        key=lambda r: r[0],
    )
    pushes = tuple((name, [{**row, "nr": number}]) for number, (_, name, row) in enumerate(rows))

    def statement(name: str, *, table: bool = False) -> str:
        sources = chance.pick(["s"], ["s"], ["u", "s"])
        return Maker(chance, time, 16, table).statement(name, sources, used=False)

    late = statement("late", table=chance.maybe(15))
    others = tuple(statement(f"m{number}") for number in range(chance.number(1, 3)))
    if chance.maybe(60) and "FOR EACH" not in late:  # one that shares a machine, or its beginning
        others = (*others, late.replace("late", "twin", 1))
    tables: dict[str, list[dict[str, Any]]] = {"people": PEOPLE} if "FOR EACH" in late else {}
    streams = "".join(f"STREAM {name} ({columns}) TIME time ID nr{ties};\n" for name in "su")
    return Company(streams, others, late, tables, pushes)


PEOPLE: list[dict[str, Any]] = [{"id": 1, "lo": 1, "hi": 1.5, "name": "p"}, {"id": 2, "lo": 0, "hi": 2.5, "name": None}]


def tell(engine: Engine, pushes: Iterable[tuple[str, list[dict[str, Any]]]]) -> list[Rows]:
    return [comparable_rows(engine.push(stream, rows)) for stream, rows in pushes]


def of(name: str, found: list[Rows]) -> list[Rows]:
    return [[row for row in group if row[0] == name] for group in found]


@seeds(50, 3_000)
def test_a_subscription_may_come_and_go_anywhere(numbers: range) -> None:
    """It tells what one tells that has seen only the events in between; the others notice nothing."""
    told_some = 0
    for seed, scenario, generator in companies(numbers):
        come = generator.randrange(len(scenario.pushes))
        go = generator.randrange(come, len(scenario.pushes))
        undisturbed = tell(Engine(scenario.streams + "".join(scenario.others)), scenario.pushes)
        engine = Engine(scenario.streams + "".join(scenario.others))
        found = tell(engine, scenario.pushes[:come])
        engine.subscribe(scenario.late, tables=scenario.tables)
        if generator.random() < 0.3:
            engine = restored(engine)
        found += tell(engine, scenario.pushes[come:go])
        engine.unsubscribe("late")
        if generator.random() < 0.3:
            engine = restored(engine)
        found += tell(engine, scenario.pushes[go:])
        assert [[row for row in group if row[0] != "late"] for group in found] == undisturbed, (
            seed,
            come,
            go,
            scenario,
        )
        alone = Engine(scenario.streams + scenario.late, tables=scenario.tables)
        separate = tell(alone, scenario.pushes[come:go])
        assert of("late", found) == [*[[]] * come, *separate, *[[]] * (len(scenario.pushes) - go)], (
            seed,
            come,
            go,
            scenario,
        )
        told_some += sum(map(len, separate))
    assert told_some > len(numbers) // 3


# ── rows that come and go ──

TEMPLATES = (
    "MATCH a DEFINE a AS v >= :lo",
    "MATCH a , b DEFINE a AS v >= :lo AND g = :name, b AS v > a.v",
    "MATCH a ; b DEFINE a AS v <= :lo, b AS kind = 'b'",
    "MATCH a ; b ; c DEFINE a AS g = :name AND kind = $k, b AS kind = $k, c AS kind = $k WITHIN 9",
    "MATCH a ;{kind = a.kind} b+ DEFINE a AS w > :hi WITHIN 6",
    "MATCH a ; !b ; c DEFINE a AS v >= :lo, b AS kind = 'c' AND v > a.v, c AS kind = 'a'",
    "MATCH a ; !b DEFINE a AS v = :lo, b AS kind = 'c' WITHIN 4",
    "MATCH a ; b DEFINE a AS kind = 'a', b AS v >= :lo AND v > a.v",
    "MATCH !b DEFINE b AS v >= :lo WITHIN 3",
    "MATCH FIRST a ; b DEFINE a AS v >= :lo, b AS kind = 'b' AFTER MATCH CONSUME",
)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("seed", range(3))
def test_rows_may_come_and_go_anywhere(template: str, seed: int) -> None:
    """Each row tells what a table of that row alone tells of the events while it is there."""
    generator = random.Random(seed)
    chance = Chance(generator.randint)
    text = f"STREAM s (time INT, {COLUMNS}, nr INT) TIME time ID nr;\nSUBSCRIBE m FOR EACH people FROM s {template};"
    pushes = [
        ("s", [{**row, "nr": number}])
        for number, row in enumerate(
            sorted(random_rows(chance, 24, "INT", order=False, named=False), key=lambda r: r["time"])
        )
    ]
    first = {"id": -1, "lo": 1, "hi": 1.5, "name": "p"}
    lives: dict[int, tuple[dict[str, Any], int, int]] = {-1: (first, 0, len(pushes))}
    for number in range(8):
        row = {
            "id": number,
            "lo": chance.pick(0, 1, 2, None),
            "hi": chance.pick(0.5, 1.5, None),
            "name": chance.pick("p", "q", None),
        }
        come = generator.randrange(len(pushes))
        lives[number] = row, come, generator.randrange(come, len(pushes) + 1)
    engine = Engine(text, tables={"people": [first]})
    found: list[Rows] = []
    for place, push in enumerate(pushes):
        gone = [n for n, (_, come, go) in lives.items() if go == place and come < place]
        if gone:
            engine.remove_rows("people", gone)
        new = [row for row, come, go in lives.values() if come == place < go and row["id"] >= 0]
        if new:
            engine.add_rows("people", new)
        if generator.random() < 0.3:
            engine = restored(engine)
        found += tell(engine, [push])
    for number, (row, come, go) in lives.items():
        alone = Engine(text, tables={"people": [first, row] if number >= 0 else [first]})
        separate = [[n for n in group if n[7][1] == str(number)] for group in tell(alone, pushes[come:go])]
        mine = [[n for n in group if n[7][1] == str(number)] for group in found]
        assert mine == [*[[]] * come, *separate, *[[]] * (len(pushes) - go)], (number, row, come, go)
