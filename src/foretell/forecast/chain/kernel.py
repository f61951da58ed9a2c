"""Event by event along a chain: what is learned on the way, and when a match becomes likely.

The kernel counts what left each chain state, and looks up how likely a match is from the state that an event led to.
It stops where something has to be done that is not for a kernel: when the tables are due, or a configuration is new.
Its arrays go together as tuples:

| tuple | holds |
| --- | --- |
| rows | of each event: process, number in its lane, time, configuration, symbol, whether it completed a match |
| processes | of each process: chain state (-1: none yet), number of its last event, when its configuration was entered, whether it is above the threshold, node of its context, lane that it counts for, its table, a match that time brought |
| known | configurations and their numbers, hashed |
| chain | chain state by configuration and context; node by node and symbol; context of a node; configuration of a chain state |
| counts | from chain state to chain state; to a match; the same by lane |
| lasting | edge by configurations (the last column: a match), bins, sums, least and most of the times an edge took |
| tables | how likely, by table, chain state and age; where ages begin |
| found | at which events it became likely, and how likely; for judges, of each event how likely and by which table, chain state and age |
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

import math
from typing import Any

from foretell.jit import inlined, kernel
from foretell.learn.histogram import BINS, LEAST_OCTAVE, PER_OCTAVE
from foretell.machine.kernels.hash_table import slot_of_word
from foretell.machine.kernels.layout import S, U

# Why the kernel stopped: it is done; the tables are due; a configuration, a chain state or an edge is new.
DONE, DUE, NEW_CONFIGURATION, NEW_STATE, NEW_EDGE = range(5)

# The counters: why it stopped, how many events it has seen, at which the tables are due, what was found.
WHY, EVENTS, NEXT, FOUND = range(4)
COUNTERS = 4

_LEAST = 2.0**LEAST_OCTAVE / 2.0

# fmt: off


@inlined
def _bin_of(time: float) -> Any:
    """As foretell.learn.histogram.bin_of."""
    found = math.floor((math.log2(max(time, _LEAST)) - LEAST_OCTAVE) * PER_OCTAVE) + 1
    return min(max(found, 0), BINS - 1)


@inlined
def _age_of(age: float, ages: Any) -> Any:
    """The last of the ages that is not above one."""
    low, high = 0, ages.size
    while high - low > 1:
        middle = (low + high) // 2
        if ages[middle] <= age:
            low = middle
        else:
            high = middle
    return low


@kernel
def follow(first: int, stop: int, rows: Any, processes: Any, known: Any, chain: Any, counts: Any, lasting: Any,
           tables: Any, weights: Any, counters: Any, above: float, learns: bool, timed: bool, found: Any) -> Any:
    """Goes on from one event to another; returns where it stopped. `weights` has that of the next event and by how
    much it grows with each."""
    (process_of, ordinal_of, time_of, configuration_of, symbol_of, matched_of) = rows
    (place, last, entered, is_above, node_of, lane_of, table_of, brought) = processes
    (masks, numbers) = known
    (state_of, following, context_of, configuration_at) = chain
    (count, matches, lane_count, lane_matches) = counts
    (edge_of, bins, total, least, most) = lasting
    (chance, ages) = tables
    (found_row, found_chance, every_chance, every_place) = found
    counters[WHY] = DONE
    seen, due, written = counters[EVENTS], counters[NEXT], counters[FOUND]
    weight, growth = weights[0], weights[1]
    matched_column = edge_of.shape[1] - 1
    done = stop
    for row in range(U(first), U(stop)):
        if seen == due:
            counters[WHY] = DUE
            done = S(row)
            break
        number = numbers[slot_of_word(configuration_of[row], masks, numbers)]
        if number < 0:
            counters[WHY] = NEW_CONFIGURATION
            done = S(row)
            break
        process = U(process_of[row])
        symbol = U(symbol_of[row]) if symbol_of.size > 0 else U(0)
        node = U(following[U(node_of[process]), symbol])
        there = state_of[U(number), U(context_of[node])]
        if there < 0:
            counters[WHY] = NEW_STATE
            done = S(row)
            break
        here = place[process]
        matched = matched_of[row] or brought[process] != 0
        age = 0
        if timed:
            time = time_of[row]
            before = -1 if here < 0 else configuration_at[here]
            if before < 0:
                entered[process] = time
            elif matched or before != number:
                edge = edge_of[before, matched_column if matched else number]
                if edge < 0:
                    counters[WHY] = NEW_EDGE
                    done = S(row)
                    break
                if learns:
                    took = max(time - entered[process], 0.0)
                    bins[edge, _bin_of(took)] += weight
                    total[edge] += weight * took
                    least[edge] = min(least[edge], took)
                    most[edge] = max(most[edge], took)
                entered[process] = time
            age = _age_of(time - entered[process], ages)
        at, to = U(here), U(there)
        if learns and here >= 0:
            idle = ordinal_of[row] - last[process] - 1
            lane = lane_of[process]
            if idle > 0:
                count[at, at] += weight * idle
            if matched:
                matches[at] += weight
            else:
                count[at, to] += weight
            if lane >= 0:
                if matched:
                    lane_matches[U(lane), at] += weight
                else:
                    lane_count[U(lane), at, to] += weight
        weight *= growth
        seen += 1
        place[process] = there
        last[process] = ordinal_of[row]
        if symbol_of.size > 0:
            node_of[process] = S(node)
        if matched:
            brought[process] = 0
        likely = chance[U(table_of[process]), to, U(age)]
        if every_chance.size > 0:
            every_chance[row] = likely
            every_place[row, 0], every_place[row, 1], every_place[row, 2] = table_of[process], there, age
        if likely >= above:
            if not is_above[process]:
                is_above[process] = 1
                found_row[written] = S(row)
                found_chance[written] = likely
                written += 1
        else:
            is_above[process] = 0
    counters[EVENTS], counters[FOUND], weights[0] = seen, written, weight
    return done


# fmt: on
