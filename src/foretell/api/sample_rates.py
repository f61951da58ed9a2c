"""The rates of statements on this machine: a sample of events is pushed through an engine, in batches of two sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from time import perf_counter

from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.statements import load
from foretell.arguments.streams import read_inputs
from foretell.capacity.scenario.rates import MeasuredRate, StatementSample
from foretell.engine import Engine
from foretell.errors import InputError
from foretell.events.ingest.reader import EventBatch
from foretell.language.subscriptions import Subscriptions
from foretell.machine.input.time_slices import TimeSlices, events_in
from foretell.records import record

#: Pushes that are not measured: kernels are compiled, caches filled. Those that are, of each size.
_WARM, _PUSHES = 30, 300
#: The events of a large push, and the least share of its time that must remain without that of a small one.
_LARGE = 4_096
#: A sample with fewer events says little.
_FEWEST = 100


@record
class PushTimes:
    """Pushes of about the same size: their events, the median of their seconds, and the notifications of all."""

    events: float
    seconds: float
    notified: int
    pushed: int


def measured_rate(sample: StatementSample) -> MeasuredRate:
    """The rate of statements that get `batch` events with each push (one, if it is not given), and the time that a
    push takes besides its events."""
    program = load(sample.statements)
    batches = read_inputs(program, sample.inputs, as_input_settings(sample.times, None), strict=False)
    count = events_in(batches)
    if count < _FEWEST:
        hint = f"give a sample of at least {_FEWEST} events, better thousands"
        raise InputError("few-events", f"{sample.statements}: the sample has {count} events", hint=hint)
    small = _pushed(program, batches, sample.batch or 1)
    large = _pushed(program, batches, min(_LARGE, count // 3))
    more = max(large.events - small.events, 1.0)
    each = max(large.seconds - small.seconds, 0.01 * large.seconds) / more
    overhead = max(small.seconds - each * small.events, 0.0)
    coverage = min(1.0, large.notified / large.pushed)
    rate = small.events / small.seconds
    text = (
        f"{sample.statements.name}: {rate:,.0f} events/s in pushes of {small.events:.3g}, {1 / each:,.0f} in larger; "
        f"{overhead * 1e6:,.0f} µs for a push, {coverage:.2%} of the events with a notification"
    )
    return MeasuredRate(rate=rate, coverage=coverage, overhead=overhead, batch_rate=1 / each, text=text)


def _pushed(program: Subscriptions, batches: Mapping[str, EventBatch], size: int) -> PushTimes:
    """Pushes the sample in batches of this size; again from the start, in a new engine, until there are enough."""
    events, seconds, notified, pushed = list[int](), list[float](), 0, 0
    for _ in range(3):
        engine = Engine(program)
        slices = TimeSlices(_raw(program, batches), {name: set(b.table.column_names) for name, b in batches.items()})
        while slices.remaining and len(seconds) < _WARM + _PUSHES:
            piece = {name: batch.table for name, batch in slices.take(size).items() if batch.table.num_rows}
            began = perf_counter()
            notified += len(engine.push_together(piece))
            seconds.append(perf_counter() - began)
            events.append(sum(table.num_rows for table in piece.values()))
            pushed += events[-1]
    warm = min(_WARM, len(seconds) // 2)
    return PushTimes(median(events[warm:]), median(seconds[warm:]), notified, pushed)


def _raw(program: Subscriptions, batches: Mapping[str, EventBatch]) -> dict[str, EventBatch]:
    """The batches as they were read: without LET attributes, which an engine adds itself."""
    found = {}
    for name, batch in batches.items():
        declared = program.declared.get(name)
        derived = {str(attribute.name) for attribute in declared.derived} if declared is not None else set()
        columns = [column for column in batch.table.column_names if column not in derived]
        found[name] = replace(batch, table=batch.table.select(columns))
    return found
