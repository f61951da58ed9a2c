"""The kernel that walks the chain event by event: it counts transitions and looks up the probability of a match.

It stops where a kernel cannot go on by itself: the tables are due, or a configuration, chain state or edge is new. The
caller deals with that and calls it again. Its arrays are grouped in named tuples.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Floats, Ints, Words
from foretell.jit import inlined, kernel
from foretell.learn.histogram import BINS, LEAST_OCTAVE, PER_OCTAVE
from foretell.machine.kernels.hash_table import slot_of_word
from foretell.machine.kernels.layout import S, U

# Why the kernel stopped: all events are processed; the tables are due; a configuration, chain state or edge is new.
DONE, DUE, NEW_CONFIGURATION, NEW_STATE, NEW_EDGE = range(5)

# The counters: the reason it stopped, events processed so far, the event at which tables are due, rises written.
REASON, EVENTS, NEXT_TABLES, RISES = range(4)
COUNTERS = 4


class EventRows(NamedTuple):
    """The columns of a batch. `time` is empty where the horizon is not a time, `symbol` where there are no contexts."""

    process: Ints
    ordinal: Ints
    time: Floats
    configuration: Words
    symbol: Ints
    matched: Flags


class ProcessColumns(NamedTuple):
    """The state of each process. `state` is its chain state (-1: none yet), `last` the ordinal of its last event,
    `entered` when it entered its configuration, `above` whether it is above the threshold, `node` that of its context,
    `lane` the lane it counts for (-1: none), `table` its probability table, `pending` whether time has completed a
    match since its last event."""

    state: Ints
    last: Ints
    entered: Floats
    above: NDArray[np.uint8]
    node: Ints
    lane: Ints
    table: Ints
    pending: NDArray[np.uint8]


class ChainIndex(NamedTuple):
    """`state_of[configuration, context]`; `next_node[node, symbol]`; `context[node]`; `configuration[state]`."""

    state_of: Ints
    next_node: Ints
    context: Ints
    configuration: Ints


class ConfigurationTable(NamedTuple):
    """A hash table from configurations to their numbers; the number of a free slot is -1. `low` has the numbers of the
    lowest configurations, which are all that most patterns have."""

    masks: Words
    numbers: Ints
    low: Ints


class TransitionCounts(NamedTuple):
    """Weights of transitions from state to state, and to a match; the same by lane."""

    counts: Floats
    matched: Floats
    lane_counts: Floats
    lane_matched: Floats


class SojournCounts(NamedTuple):
    """`edge_of[source, target]` by configuration, the last column for a match; for each edge the histogram, sum, least
    and most of its sojourn times."""

    edge_of: Ints
    bins: Floats
    total: Floats
    least: Floats
    most: Floats


class LookupTables(NamedTuple):
    """`probability[table, state, age]`, and the lower edges of the ages."""

    probability: Floats
    ages: Floats


class ForecastRows(NamedTuple):
    """Output: the rows at which the probability rose to the threshold, with it; and for a listener (else empty) the
    probability after each event, with the table, chain state and age of its look-up."""

    rise: Ints
    rise_probability: Floats
    probability: Floats
    lookup: Ints


class WalkOptions(NamedTuple):
    """The probability from which on a forecast is due; whether to count transitions."""

    threshold: float
    learns: bool


_LEAST = 2.0**LEAST_OCTAVE / 2.0

# fmt: off


@inlined
def _bin_of(time: float) -> Any:
    """As foretell.learn.histogram.bin_of."""
    number = math.floor((math.log2(max(time, _LEAST)) - LEAST_OCTAVE) * PER_OCTAVE) + 1
    return min(max(number, 0), BINS - 1)


@inlined
def _age_index(age: float, ages: Any) -> Any:
    """The index of the last lower edge that is not above `age`, by bisection."""
    low, high = 0, ages.size
    while high - low > 1:
        middle = (low + high) // 2
        if ages[middle] <= age:
            low = middle
        else:
            high = middle
    return low


@kernel
def walk_chain(first: int, events: EventRows, processes: ProcessColumns, configurations: ConfigurationTable,
               chain: ChainIndex, counts: TransitionCounts, sojourns: SojournCounts | None, tables: LookupTables,
               weights: Floats, counters: Ints, options: WalkOptions, forecasts: ForecastRows) -> int:
    """Process the events from row `first` on; return the row where it stopped. `weights` has the weight of the
    next event and its growth per event. Without `sojourns` no times are compiled.

    Lanes alternate, so a processor cannot foresee the configuration of an event: what depends on it is looked up
    without branches."""
    (process_of, ordinal_of, time_of, configuration_of, symbol_of, matched_of) = events
    (state, last, entered, is_above, node_of, lane_of, table_of, pending) = processes
    (masks, numbers, low) = configurations
    (state_of, next_node, context_of, configuration_at) = chain
    (count, matches, lane_count, lane_matches) = counts
    (table, ages) = tables
    (threshold, learns) = options
    (rise, rise_probability, every_probability, every_lookup) = forecasts
    counters[REASON] = DONE
    seen, due, rises = counters[EVENTS], counters[NEXT_TABLES], counters[RISES]
    weight, growth = weights[0], weights[1]
    done = process_of.size
    has_contexts, node = symbol_of.size > 0, U(0)
    for row in range(U(first), U(process_of.size)):
        if seen == due:
            counters[REASON] = DUE
            done = S(row)
            break
        word = configuration_of[row]
        number = low[word] if word < U(low.size) else numbers[slot_of_word(word, masks, numbers)]
        if number < 0:
            counters[REASON] = NEW_CONFIGURATION
            done = S(row)
            break
        process = U(process_of[row])
        if has_contexts:
            node = U(next_node[U(node_of[process]), U(symbol_of[row])])
        target = state_of[U(number), U(context_of[node])]
        if target < 0:
            counters[REASON] = NEW_STATE
            done = S(row)
            break
        source = state[process]
        matched = matched_of[row] or pending[process] != 0
        age = 0
        if sojourns is not None:
            (edge_of, bins, total, least, most) = sojourns
            time = time_of[row]
            before = -1 if source < 0 else configuration_at[source]
            if before < 0:
                entered[process] = time
            elif matched or before != number:
                edge = edge_of[before, edge_of.shape[1] - 1 if matched else number]
                if edge < 0:
                    counters[REASON] = NEW_EDGE
                    done = S(row)
                    break
                if learns:
                    lasted = max(time - entered[process], 0.0)
                    bins[edge, _bin_of(lasted)] += weight
                    total[edge] += weight * lasted
                    least[edge] = min(least[edge], lasted)
                    most[edge] = max(most[edge], lasted)
                entered[process] = time
            age = _age_index(time - entered[process], ages)
        at, to = U(source), U(target)
        if learns and source >= 0:
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
        state[process] = target
        last[process] = ordinal_of[row]
        if has_contexts:
            node_of[process] = S(node)
        if matched:
            pending[process] = 0
        probability = table[U(table_of[process]), to, U(age)]
        if every_probability.size > 0:
            every_probability[row] = probability
            every_lookup[row, 0], every_lookup[row, 1], every_lookup[row, 2] = table_of[process], target, age
        above = np.uint8(probability >= threshold)
        if above != is_above[process]:
            is_above[process] = above
            if above:
                rise[rises] = S(row)
                rise_probability[rises] = probability
                rises += 1
    counters[EVENTS], counters[RISES], weights[0] = seen, rises, weight
    return done


# fmt: on
