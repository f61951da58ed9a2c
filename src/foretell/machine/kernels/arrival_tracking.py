"""The latest run of each process at each state of a `;` sequence, which arrival lists never build.

State n has bound n + 1 steps. Of the runs of a process at one state only the one that began last is tracked: it has
most time left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.machine.kernels.decorators import kernel
from foretell.machine.kernels.layout import Array, S, U
from foretell.machine.kernels.probe import BEGINNING, EVENTS, FIRSTS, is_spent
from foretell.machine.kernels.structs import Exclusion


class TrackedEvents(NamedTuple):
    """Of each event of a batch its process, lane, end and start time; [step, row] whether it meets the conditions of a
    step, the negated steps last. `base` is the position of the first event."""

    base: int
    process: Array
    lane: Array
    time: Array
    start: Array
    predicates: Array


class TrackedTables(NamedTuple):
    """When a run ends: `gaps` has the state that each negated step ends. A run at the state `limits[i, 0]` ends when
    the event of its step `limits[i, 1]` is more than `amounts[i]` ago."""

    gaps: Array
    windowed: bool
    within: Any
    limits: Array
    amounts: Array


class LatestRuns(NamedTuple):
    """[process, state] when the run began; [process, state, step] the position of its event and the end of that event.
    There is no run where the position of the first event is -1."""

    began: Array
    position: Array
    ended: Array


class TrackedOutput(NamedTuple):
    """Of each event the configuration after it; [row, step] the positions of the furthest run's events, or -1."""

    configuration: Array
    furthest: Array


# fmt: off


@kernel
def track_runs(events: TrackedEvents, tables: TrackedTables, exclusion: Exclusion, runs: LatestRuns,
               output: TrackedOutput) -> None:
    """Advance the runs by the events of a batch; write the configuration and the furthest run after each event."""
    (base, process_of, lane_of, time_of, start_of, predicates) = events
    (gaps, windowed, within, limits, amounts) = tables
    (by, past_of_row, past_of_lane, _, _, _) = exclusion
    (began, bound, ended) = runs
    (configurations, furthest) = output
    states = U(began.shape[1])
    for row in range(U(process_of.size)):
        process, time = U(process_of[row]), time_of[row]
        for state in range(states):
            if windowed and bound[process, state, 0] >= 0 and time > began[process, state] + within:
                bound[process, state, 0] = -1
        for limit in range(U(amounts.size)):
            state, step = U(limits[limit, 0]), U(limits[limit, 1])
            if bound[process, state, 0] >= 0 and time > ended[process, state, step] + amounts[limit]:
                bound[process, state, 0] = -1
        for gap in range(U(gaps.size)):
            if predicates[states + U(1) + gap, row]:
                bound[process, U(gaps[gap]), 0] = -1
        # From the last state to the first, so that no run binds the event twice.
        for back in range(states):
            state = states - U(1) - back
            if not predicates[state, row]:
                continue
            if state == U(0):
                began[process, 0] = start_of[row]
                bound[process, 0, 0] = base + S(row)
                ended[process, 0, 0] = time
                continue
            before = state - U(1)
            occupied = bound[process, state, 0] >= 0
            if bound[process, before, 0] < 0 or (occupied and began[process, state] > began[process, before]):
                continue
            began[process, state] = began[process, before]
            for step in range(state):
                bound[process, state, step] = bound[process, before, step]
                ended[process, state, step] = ended[process, before, step]
            bound[process, state, state] = base + S(row)
            ended[process, state, state] = time
        lane = U(lane_of[row])
        if by == BEGINNING:
            past_of_lane[lane] = max(past_of_lane[lane], past_of_row[row])
        configuration = U(0)
        for state in range(states):
            if by == BEGINNING and bound[process, state, 0] <= past_of_lane[lane]:
                bound[process, state, 0] = -1
            if (by == FIRSTS or by == EVENTS) and bound[process, state, 0] >= 0:
                for step in range(state + U(1) if by == EVENTS else U(1)):
                    if is_spent(bound[process, state, step], row, exclusion):
                        bound[process, state, 0] = -1
                        break
            if bound[process, state, 0] >= 0:
                configuration |= U(1) << state
                for step in range(state + U(1)):
                    furthest[row, step] = bound[process, state, step]
                for step in range(state + U(1), states):
                    furthest[row, step] = -1
        configurations[row] = configuration


# fmt: on
