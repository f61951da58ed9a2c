"""Micro-batches in place of the filter: as on Spark, and in a process that pushes all events that wait at once.

A micro-batch takes all events that have come, plans for a fixed time, and deals the events to its shards. Each shard
is a task that holds a core until its events are done. When all tasks have ended, all notifications appear, and the
next micro-batch may begin.
"""

from __future__ import annotations

from foretell.capacity.net.petri_net import FixedTime, Immediately, NetPlace, NetTransition, Station
from foretell.capacity.nets.filter_part import verdicts
from foretell.capacity.nets.part import NetPart, connection, messages, queue, timed
from foretell.capacity.nets.settings import MicroBatchSettings, ServiceSettings


def micro_batches(settings: ServiceSettings, given: MicroBatchSettings) -> NetPart:
    returned = messages("network1", settings.network.capacity, settings.load)
    taken = messages("network2", settings.notifier.capacity, settings.load)
    clock, due = _trigger(given)
    transitions = {
        **clock.transitions,
        "start": NetTransition(
            Immediately(),
            inputs={"idle": 1, "observed_events": 1, **due},
            outputs={"gathering": 1, "batch": 1, **returned},
        ),
        "gather": NetTransition(
            Immediately(priority=3),
            inputs={"gathering": 1, "observed_events": 1},
            outputs={"gathering": 1, "batch": 1, **returned},
        ),
        "gathered": NetTransition(Immediately(priority=2), inputs={"gathering": 1}, outputs={"planned": 1}),
        "plan_batch": NetTransition(FixedTime(given.overhead), inputs={"planned": 1}, outputs={"dealing": 1}),
        **_shard_transitions(settings, given),
        "commit": NetTransition(Immediately(), inputs={"ended": given.shards}, outputs={"committing": 1}),
        **verdicts(settings.filter.coverage, "matched", {"accepted": 1}, {}),
        "publish": NetTransition(
            Immediately(priority=2),
            inputs={"committing": 1, "done": 1},
            outputs={"committing": 1, "matched": 1},
        ),
        "process": NetTransition(Immediately(priority=3), {"accepted": 1, **taken}, {"matched_events": 1}),
        "committed": NetTransition(
            Immediately(), inputs={"committing": 1}, outputs={"idle": 1}, inhibitors={"done": 1}
        ),
    }
    places = {
        **clock.places,
        **{name: NetPlace(1 if name == "idle" else 0) for name in ("idle", "gathering", "planned", "dealing")},
        **{name: NetPlace() for name in ("ended", "committing")},
        **{name: queue() for name in ("batch", "done", "matched", "accepted", "matched_events")},
        **{f"shard_{k}": queue() for k in range(given.shards)},
        **{f"{state}_{k}": NetPlace() for k in range(given.shards) for state in ("task", "running")},
        "cores": NetPlace(given.cores),
        **connection("network2", settings.notifier.capacity),
    }
    matches = tuple(f"match_{k}" for k in range(given.shards))
    return NetPart(places, transitions, {"cores": Station(matches, min(given.cores, given.shards))})


def _trigger(given: MicroBatchSettings) -> tuple[NetPart, dict[str, int]]:
    """The clock of a fixed interval: a micro-batch that is late begins as soon as it can, once."""
    if given.interval is None:
        return NetPart({}, {}), {}
    tick = NetTransition(FixedTime(given.interval), inputs={"clock": 1}, outputs={"clock": 1, "tick": 1})
    note = NetTransition(Immediately(priority=2), inputs={"tick": 1}, outputs={"due": 1}, inhibitors={"due": 1})
    skip = NetTransition(Immediately(), inputs={"tick": 1, "due": 1}, outputs={"due": 1})
    # A trigger that finds no events does nothing: the next chance is the next interval.
    lapse = NetTransition(
        Immediately(), inputs={"due": 1, "idle": 1}, outputs={"idle": 1}, inhibitors={"observed_events": 1}
    )
    places = {"clock": NetPlace(1), "tick": NetPlace(), "due": NetPlace()}
    return NetPart(places, {"trigger": tick, "note": note, "skip": skip, "lapse": lapse}), {"due": 1}


def _shard_transitions(settings: ServiceSettings, given: MicroBatchSettings) -> dict[str, NetTransition]:
    tasks = {f"task_{k}": 1 for k in range(given.shards)}
    found = {"launch": NetTransition(Immediately(priority=2), inputs={"dealing": 1}, outputs=tasks)}
    match = timed(settings.filter.rate, fixed=settings.filter.fixed)
    for k in range(given.shards):
        shard, task, running = f"shard_{k}", f"task_{k}", f"running_{k}"
        found[f"deal_{k}"] = NetTransition(
            Immediately(priority=3), inputs={"dealing": 1, "batch": 1}, outputs={"dealing": 1, shard: 1}
        )
        found[f"begin_{k}"] = NetTransition(Immediately(), inputs={task: 1, "cores": 1}, outputs={running: 1})
        found[f"match_{k}"] = NetTransition(match, inputs={shard: 1, running: 1}, outputs={"done": 1, running: 1})
        found[f"end_{k}"] = NetTransition(
            Immediately(), inputs={running: 1}, outputs={"cores": 1, "ended": 1}, inhibitors={shard: 1}
        )
    return found
