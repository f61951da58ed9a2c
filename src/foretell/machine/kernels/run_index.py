"""The index of runs that carry rows of a template: an event visits those whose profile it satisfies.

Cayuga's index of affected instances (section 3.3), by the static part of θ. At some states one site alone decides which
events concern a run (see `foretell.plan.lower.row_levels`). There a run also stands in a chain, which it is found by:
its list, its state and the profile of its rows choose a bucket. Runs whose rows have several profiles have a chain that
every event visits. All runs stand in the lists of their lanes as well, which are walked where an event satisfies more
profiles than the lane has runs.

Runs that no event visits stay in their chains when their windows have passed. So a hand goes round the pool, two runs
for each one that is new, and frees them: at most about as many of them are there as of others.
"""

from __future__ import annotations

from typing import Any

from foretell.machine.kernels.decorators import compiled, expanded, inlined
from foretell.machine.kernels.hash_table import keyed
from foretell.machine.kernels.layout import (
    CHAIN_NEXT,
    CHAIN_PREVIOUS,
    CHAIN_PROFILE,
    HAND_AT,
    HAND_LAST,
    HAND_MET,
    LIST_PREVIOUS,
    LONGEST,
    NEVER,
    NONE,
    ONE,
    ROWS_COUNT,
    ROWS_SHIFT,
    RUN_BEGAN,
    RUN_LANE,
    RUN_LIST,
    RUN_NEXT,
    RUN_ROWS,
    RUN_STATE,
    SEVERAL,
    STATE_KEY_SLOT,
    WAIT_SITE,
    WAIT_SORTED,
    WORD_MASK,
    WORD_SHIFT,
    Array,
    S,
    U,
)
from foretell.machine.kernels.run_lists import release
from foretell.machine.kernels.structs import Batch, NfaTables, RowBatch, RunIndex, Runs


@inlined
def bucket_of(place: Any, state: Any, profile: Any, index: RunIndex) -> Any:
    """The bucket of the runs at a state, in a list, whose rows have a profile."""
    hashed = keyed(keyed(U(profile), place, index.secret), state, index.secret)
    return hashed & U(index.buckets.size - 1)


@inlined
def profile_of(run: Any, state: Any, cells: Array, rows: RowBatch) -> Any:
    """The profile by which a run is found at a state: SEVERAL where its rows may have others, NEVER where no event
    satisfies it, NONE where the state has no index."""
    site = rows.waits[state, WAIT_SITE]
    if site == NONE:
        return NONE
    carried = cells[run, RUN_ROWS]
    low = carried >> ROWS_SHIFT
    last = low + (carried & ROWS_COUNT) - 1
    profile = S(rows.profiles[site, low])
    if last != low and (rows.waits[state, WAIT_SORTED] == 0 or S(rows.profiles[site, last]) != profile):
        return SEVERAL
    return NEVER if profile < 0 else U(profile)


# ── chains ──


@inlined
def enter_chain(run: Any, cells: Array, index: RunIndex) -> None:
    """Put a run into the chain of its list, state and profile, as its first."""
    links = index.links
    if links[run, CHAIN_PROFILE] == NONE:
        return
    bucket = bucket_of(U(cells[run, RUN_LIST]), U(cells[run, RUN_STATE]), links[run, CHAIN_PROFILE], index)
    first = U(index.buckets[bucket])
    if first != NONE:
        links[first, CHAIN_PREVIOUS] = run
    links[run, CHAIN_NEXT], links[run, CHAIN_PREVIOUS] = first, NONE
    index.buckets[bucket] = run


@inlined
def leave_chain(run: Any, cells: Array, index: RunIndex) -> None:
    """Take a run out of its chain."""
    links = index.links
    if links[run, CHAIN_PROFILE] == NONE:
        return
    previous, following = U(links[run, CHAIN_PREVIOUS]), U(links[run, CHAIN_NEXT])
    if following != NONE:
        links[following, CHAIN_PREVIOUS] = previous
    if previous != NONE:
        links[previous, CHAIN_NEXT] = following
    else:
        profile = links[run, CHAIN_PROFILE]
        index.buckets[bucket_of(U(cells[run, RUN_LIST]), U(cells[run, RUN_STATE]), profile, index)] = following
    links[run, CHAIN_PROFILE] = NONE


@inlined
def drop_run(run: Any, place: Any, state: Any, runs: Runs) -> None:
    """Take a run out of its list and its chain."""
    cells, heads, links = runs.registers.integers, runs.lanes.heads, runs.index.links
    previous, following = U(links[run, LIST_PREVIOUS]), U(cells[run, RUN_NEXT])
    if previous == NONE:
        heads[place, state] = following
    else:
        cells[previous, RUN_NEXT] = S(following)
    if following != NONE:
        links[following, LIST_PREVIOUS] = previous
    leave_chain(run, cells, runs.index)


@inlined
def move_hand(now: Any, tables: NfaTables, runs: Runs) -> None:
    """Look at the next two runs, and free those that stand in chains and whose windows have passed."""
    cells, links, hand = runs.registers.integers, runs.index.links, runs.index.hand
    for _ in range(2):
        run = U(hand[HAND_AT])
        if links[run, CHAIN_PROFILE] != NONE:
            state = U(cells[run, RUN_STATE])
            within = tables.state_within[state]
            if within >= 0 and now > runs.times[run, RUN_BEGAN] + within:
                drop_run(run, U(cells[run, RUN_LIST]), state, runs)
                release(run, runs)
            else:
                hand[HAND_MET] = S(run)
        hand[HAND_AT] += 1
        if hand[HAND_AT] > hand[HAND_LAST]:
            hand[HAND_LAST] = hand[HAND_MET]
            hand[HAND_AT], hand[HAND_MET] = 0, 0


# ── in place of functions of `run_lists` and `fresh_runs` ──


@inlined
def unlink_indexed(previous: Any, next_run: Any, place: Any, state: Any, runs: Runs) -> None:
    """Take a run out of its list, in which it stands behind `previous` (NONE: first), and out of its chain."""
    run = U(runs.lanes.heads[place, state])
    if previous != NONE:
        run = U(runs.registers.integers[previous, RUN_NEXT])
    drop_run(run, U(place), U(state), runs)


@expanded
def admit_rows(fresh: Any, row: Any, tables: NfaTables, batch: Batch, runs: Runs) -> None:
    """Put the runs that an event made into the lists of their states, and into chains."""
    cells, lanes, counters, index = runs.registers.integers, runs.lanes, runs.counters, runs.index
    while fresh != NONE:
        next_fresh = U(cells[fresh, RUN_NEXT])
        state = U(cells[fresh, RUN_STATE])
        lane = U(cells[fresh, RUN_LANE])
        slot = tables.states[state, STATE_KEY_SLOT]
        place = lane if slot == NONE else U(cells[fresh, slot])
        first = U(lanes.heads[place, state])
        cells[fresh, RUN_LIST], cells[fresh, RUN_NEXT] = S(place), S(first)
        lanes.heads[place, state] = fresh
        if first != NONE:
            index.links[first, LIST_PREVIOUS] = fresh
        index.links[fresh, LIST_PREVIOUS] = NONE
        index.links[fresh, CHAIN_PROFILE] = profile_of(fresh, state, cells, batch.events.rows)
        enter_chain(fresh, cells, index)
        if lanes.occupied.shape[1] > 0:
            lanes.occupied[lane, state >> WORD_SHIFT] |= ONE << (state & WORD_MASK)
        lanes.lengths[lane] += 1
        if lanes.lengths[lane] > counters[LONGEST]:
            counters[LONGEST] = lanes.lengths[lane]
        index.hand[HAND_LAST] = max(index.hand[HAND_LAST], S(fresh))
        index.hand[HAND_MET] = max(index.hand[HAND_MET], S(fresh))
        move_hand(batch.events.time[row], tables, runs)
        fresh = next_fresh


# ── visits ──


@inlined
def walks_list(state: Any, lane: Any, row: Any, rows: RowBatch, runs: Runs) -> bool:
    """Whether an event visits all runs of a list: the state has no index, or the event satisfies more profiles than the
    lane has runs."""
    site = rows.waits[state, WAIT_SITE]
    return bool(site == NONE or rows.offsets[site, row + ONE] - rows.offsets[site, row] > runs.lanes.lengths[lane])


@inlined
def next_in_chains(
    run: Any, profile: Any, at: int, stop: int, place: Any, state: Any, rows: RowBatch, runs: Runs
) -> Any:
    """The next run that an event visits, from `run` on in the chain of a profile, and then in those of the profiles
    `at` to `stop` of the event; with that profile and the one to go on with. NONE where there is no other."""
    links, cells = runs.index.links, runs.registers.integers
    while True:
        while run != NONE:
            same = links[run, CHAIN_PROFILE] == profile
            if same and U(cells[run, RUN_LIST]) == place and U(cells[run, RUN_STATE]) == state:
                return run, profile, at
            run = U(links[run, CHAIN_NEXT])
        if at == stop:
            return NONE, profile, at
        profile = U(rows.satisfied[at])
        at += 1
        run = U(runs.index.buckets[bucket_of(place, state, profile, runs.index)])


@inlined
def first_visited(state: Any, lane: Any, place: Any, row: Any, rows: RowBatch, runs: Runs) -> Any:
    """The first run that an event visits, with its profile, and the profiles of the event that are left: from where and
    to where. The profile is NONE where the list is walked."""
    if walks_list(state, lane, row, rows, runs):
        return U(runs.lanes.heads[place, state]), NONE, S(0), S(0)
    site = rows.waits[state, WAIT_SITE]
    at, stop = S(rows.offsets[site, row]), S(rows.offsets[site, row + ONE])
    run = U(runs.index.buckets[bucket_of(place, state, SEVERAL, runs.index)])
    run, profile, at = next_in_chains(run, SEVERAL, at, stop, place, state, rows, runs)
    return run, profile, at, stop


@inlined
def next_visited(run: Any, profile: Any, at: int, stop: int, place: Any, state: Any, rows: RowBatch, runs: Runs) -> Any:
    """The run that an event visits after another one, its profile, and which profiles are left."""
    if profile == NONE:
        return U(runs.registers.integers[run, RUN_NEXT]), profile, at
    run = U(runs.index.links[run, CHAIN_NEXT])
    return next_in_chains(run, profile, at, stop, place, state, rows, runs)


# ── of a pool ──


@compiled
def chain_runs(in_use: Array, cells: Array, index: RunIndex) -> None:
    """Put runs into chains, of which none is there yet."""
    for i in range(in_use.size):
        enter_chain(U(in_use[i]), cells, index)


@compiled
def index_runs(in_use: Array, cells: Array, rows: RowBatch, index: RunIndex) -> None:
    """Make the index of runs that stand in lists."""
    for i in range(in_use.size):
        run = U(in_use[i])
        following = U(cells[run, RUN_NEXT])
        if following != NONE:
            index.links[following, LIST_PREVIOUS] = run
        index.links[run, CHAIN_PROFILE] = profile_of(run, U(cells[run, RUN_STATE]), cells, rows)
        enter_chain(run, cells, index)
