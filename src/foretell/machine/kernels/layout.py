"""Numbers that the planner and the kernels share: columns of tables and of runs, kinds of waits and updates, counters.

Tables of an NFA are matrices of unsigned numbers, a row for each state, edge and so on (`foretell.plan.lower.flatten`
writes them). Indices are unsigned because Numba adds a test to each use of a signed index, which may count from the
end; these tests took half of the time. Arithmetic that mixes unsigned and signed numbers gives floats in Numba: `U` and
`S` turn one into the other.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

U: Any = np.uint64
S: Any = np.int64
ONE: Any = np.uint64(1)

#: Sets of states are bits of words of 64.
WORD_SHIFT: Any = np.uint64(6)
WORD_MASK: Any = np.uint64(63)
BYTE: Any = np.uint64(255)
BYTE_SHIFT: Any = np.uint64(8)

#: No run, no predicate, no slot: 32 bits, so that lists of runs need no more.
NONE: Any = np.uint64(2**32 - 1)

# ── columns of the tables of an NFA ──

(STATE_THREADS, STATE_THREADS_STOP, STATE_EDGES, STATE_EDGES_STOP, STATE_TOUCH, STATE_KEY, STATE_KEY_SLOT, STATE_WAITS,
 STATE_TICKS, STATE_TICKS_STOP) = range(10)  # fmt: skip
(THREAD_KIND, THREAD_GUARD, _, _, _, THREAD_NEGATIONS, THREAD_NEGATIONS_STOP, THREAD_MARK) = range(8)
NEGATION_GUARD = 0
TICK_SLOT, TICK_GUARD, _, _, _, TICK_MARK = range(6)
(EDGE_PREDICATE, EDGE_CODE, EDGE_CODE_STOP, EDGE_PROFILE, EDGE_UPDATES, EDGE_UPDATES_STOP, EDGE_TARGET, EDGE_FINAL,
 EDGE_THREAD) = range(9)  # fmt: skip
UPDATE_KIND, UPDATE_SLOT, UPDATE_ARGUMENT, UPDATE_CODE_STOP, UPDATE_IS_FLOAT = range(5)

#: A guard takes four columns: its predicate, where its code begins, where it stops, and the site of the profiles that
#: rows of a template need. An edge begins with its guard.
GUARD_CODE, GUARD_CODE_STOP, GUARD_PROFILE = 1, 2, 3
GUARD_COLUMNS = 4

#: Columns of the table of descents, with a row for each edge: the depth in the trie of rows to which it leads (NONE: it
#: leads to no other rows), and the depth of the rows that have the profile of its site in common, if they are the
#: children of the run's rows (NONE: they lie elsewhere).
DESCENT_DEPTH, DESCENT_DIRECT = range(2)

#: Columns of the table of waits, with a row for each state: the site by whose profile its runs are found (NONE: all are
#: visited), and whether the rows of a run lie in the order of these profiles.
WAIT_SITE, WAIT_SORTED = range(2)

#: An interval of rows is one number: the first row shifted left, plus the count of rows.
ROWS_SHIFT: Any = np.int64(32)
ROWS_COUNT: Any = np.int64(2**32 - 1)

# ── kinds ──

#: How a thread waits: for the very next event, for any later one, for one that a condition selects.
NEXT, ANY, WHERE = range(3)

#: The mark of a thread where events are simultaneous: it may wait on; it must be bound in the present instant, or the
#: run ends with the instant; it began in the present instant, and no event of the instant concerns it.
AWAKE, ENDING, ASLEEP = range(3)

#: Register updates: how an edge writes the event that it binds into a slot, or (CHAIN, GAP) into the chain of nodes.
(POSITION, SET, COUNT, COUNT_KNOWN, SUM_INT, SUM_FLOAT, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, CHAIN, COMPUTE, GAP,
 MIN_TEXT, MAX_TEXT) = range(15)  # fmt: skip

# ── runs ──

#: The cells of a run: its state, the next run of its list, its lane and list, when it began, the position of its first
#: event, whether it is over, its serial number (a new one each time the cells are reused), the last node of its chain,
#: the template rows that it serves; then its slots. All lie in one row of one matrix: an address is computed once.
(RUN_STATE, RUN_NEXT, RUN_LANE, RUN_LIST, RUN_BEGAN, RUN_FIRST, RUN_OVER, RUN_SERIAL, RUN_CHAIN, RUN_ROWS,
 FIRST_SLOT) = range(11)  # fmt: skip

#: RUN_OVER: the run goes on; it is over and still stands in its list.
ALIVE, DEAD = range(2)

#: What the index of runs has of each: the run before it in its list, the runs after and before it in its chain, and the
#: profile by which it is found there (NONE: it is in no chain).
LIST_PREVIOUS, CHAIN_NEXT, CHAIN_PREVIOUS, CHAIN_PROFILE = range(4)
LINKS = 4

#: The hand that goes round the runs and frees those whose windows have passed: the run that it looks at next, the last
#: one of the round, and the last in use that it has met in this round.
HAND_AT, HAND_LAST, HAND_MET = range(3)

#: In place of a profile: the rows of the run may have several; no event satisfies it.
SEVERAL: Any = np.uint64(2**32 - 2)
NEVER: Any = np.uint64(2**32 - 3)

# ── counters ──

#: Free runs, nodes in use, matches written, what ran out, the first of the runs that the present event made, the most
#: runs that a lane has had, timers in use, the lane that has too many runs; for how many new runs there was no room,
#: and whether these are counted for the event (1) or taken to be the most that any event might bring (0).
FREE, NODES, MATCHES, LACKING, FRESH, LONGEST, TIMERS, CROWDED, WANTED, COUNTED = range(10)
COUNTERS = 10

#: LACKING: room for runs, nodes, matches or timers; or a lane has more runs than its limit.
FULL_POOL, FULL_NODES, FULL_OUTPUT, FULL_TIMERS, FULL_LANE = range(1, 6)
