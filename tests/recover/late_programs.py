"""Random streams of which some events arrive late, and what the reference evaluator makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import foretell as ft
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.model import as_model, delay_models
from foretell.arguments.streams import declaration_of, read_tables
from foretell.events.ingest.reader import events_of, read
from foretell.reference.confirmations import LateArrival
from foretell.reference.run import run
from foretell.reference.table_rows import table_rows
from tests.recover.estimate_programs import EstimateProgram

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Push:
    """A batch of events of the stream `s`, or time that advances without one."""

    events: Events
    now: int | None = None


@dataclass(frozen=True)
class LateProgram:
    """A program whose stream declares LATE BY `lateness`, and what comes in turn."""

    program: EstimateProgram
    lateness: int
    pushes: tuple[Push, ...]

    @property
    def text(self) -> str:
        return f"{self.program.stream[:-1]} LATE BY {self.lateness}; {self.program.text}"

    def engine(self, **given: Any) -> ft.Engine:
        return ft.Engine(self.text, model=self.program.model, tables=self.program.tables or None, **given)

    @property
    def expected(self) -> list[ft.Notification]:
        """The notifications by the reference evaluator: those of the events in time, and what late ones revise."""
        timely, arrivals, latest, watermark = Events(), list[tuple[dict[str, Any], int]](), -math.inf, -math.inf
        for push in self.pushes:
            late = [event for event in push.events if event["time"] < watermark]
            arrivals += [(event, int(watermark)) for event in late]
            timely += [event for event in push.events if event["time"] >= watermark]
            latest = max([latest, *(event["time"] for event in push.events)])
            watermark = max(watermark, latest - self.lateness, -math.inf if push.now is None else push.now)
        program = self.program
        return run_with_late(self.text, timely, arrivals, program.model, program.tables, program.until)


def run_with_late(
    text: str,
    timely: Events,
    arrivals: Sequence[tuple[dict[str, Any], int]],
    model: Mapping[str, Any],
    tables: Mapping[str, Any] | None = None,
    until: int | None = None,
) -> list[ft.Notification]:
    """The reference evaluator on events of `s` in time, and late ones with the watermark that they came behind. What
    was known before that time came before a late event, and nothing else."""
    program = ft.parse(text)
    declaration = declaration_of(program, "s", InputSettings())
    batch = read(timely, declaration)
    rows = read_tables(program.tables, tables or {})
    checked = program.checked({"s": batch.schema}, {name: table.types for name, table in rows.items()})
    late = events_of(read([event for event, _ in arrivals], declaration), checked.ranks["s"]) if arrivals else []
    return run(
        checked,
        {"s": events_of(batch, checked.ranks["s"])},
        {name: table_rows(table) for name, table in rows.items()},
        until=until,
        timing=delay_models(as_model(model), ["m"]),
        late=[LateArrival(event, time, ((time, -1),)) for event, (_, time) in zip(late, arrivals, strict=True)],
    )


def _rounds(random: Random) -> Events:
    """Events that satisfy the first steps of a statement in turn, with others in between."""
    time, events = 0, Events()
    for number in range(random.randint(6, 14)):
        time += random.choice([0, 1, 1, 1, 2])
        v = number % 3 if random.random() < 0.8 else random.choice([0, 1, 2, 9])
        k, lane = random.choice([1, 1, 1, 2]), random.choice([1, 1, 1, 2])
        events.append({"time": time, "v": v, "k": k, "w": random.randint(0, 3), "l": lane, "e": number})
    return events


def late_program(random: Random, program: EstimateProgram) -> LateProgram:
    """The same statement with events that are mostly matches, of which some come later than LATE BY allows. Statements
    that read its results are left out: with as many the reference evaluator would take too long."""
    program = replace(program, text=program.text.split(" SUBSCRIBE r ")[0], events=_rounds(random))
    lateness = random.choice([1, 1, 3])
    order = list(range(len(program.events)))
    delays = [random.choice([0, 0, 0, 4, 8, 30]) for _ in order]
    order.sort(key=lambda number: number + delays[number])
    pushes, first = list[Push](), 0
    while first < len(order):
        count = random.randint(1, 3)
        pushes.append(Push([program.events[number] for number in order[first : first + count]]))
        first += count
        if random.random() < 0.2:
            latest = max(event["time"] for push in pushes for event in push.events)
            before = max((push.now for push in pushes if push.now is not None), default=latest)
            pushes.append(Push([], max(before, latest + random.choice([0, 0, 5, 12]))))
    return LateProgram(program, lateness, tuple(pushes))
