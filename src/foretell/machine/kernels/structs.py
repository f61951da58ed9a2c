"""The arrays that kernels take, grouped: Numba passes a named tuple as its fields, so grouping costs nothing there.

A named tuple costs about 0.4 µs more than its fields each time Python calls a kernel with it. That is once for a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.machine.kernels.layout import Array


class Values(NamedTuple):
    """Matrices of the same shape: a value is in that of its type, and `nulls` says whether it is NULL.

    Columns of a batch are [column, row], registers [run, slot], parameters [template row, parameter].
    """

    floats: Array
    integers: Array
    nulls: Array


class Bytecode(NamedTuple):
    """Operations with their arguments, constants, and the texts that operations compare: UTF-8 in one heap.

    `text_functions` has for each text what the functions of the code give for it. `text_order` has the codes of all
    texts by their bytes, if the code looks for texts that it cut out of others.
    """

    ops: Array
    floats: Array
    integers: Array
    text_offsets: Array
    text_bytes: Array
    text_functions: Array
    text_order: Array


class Fan(NamedTuple):
    """How many runs one run may become on one event, how many may begin with it, how many nodes each may need."""

    runs: int
    starts: int
    nodes: int


class NfaTables(NamedTuple):
    """States, edges and what belongs to them, as `foretell.plan.lower.flatten` describes.

    `starts` are the edges that a run begins with, `begins` the predicate without which none begins, `finals` the slots
    that a finished match carries.
    """

    states: Array
    threads: Array
    negations: Array
    ticks: Array
    edges: Array
    updates: Array
    state_within: Array
    edge_within: Array
    starts: Array
    finals: Array
    begins: Any
    fan: Fan
    simultaneous: bool


class RowBatch(NamedTuple):
    """The rows of a template that runs carry (see `row_runs`), and the profiles that each event satisfies.

    | field | holds |
    | --- | --- |
    | total | how many rows there are |
    | offsets | [site, event] where its profiles begin in `satisfied` |
    | satisfied | profiles of events, those of each ascending |
    | profiles | [site, row] the profile of each row |
    | ends | [depth - 1, row] where the rows end that agree with it so far down the trie |
    | ranks | [depth - 1, row] how many groups of such rows begin before it |
    | begins | where the rows with each profile of the first level begin; -1 where there are none |
    | first | where the profiles at the site of the first level begin in `satisfied` |
    | starts, stops | of these profiles, where the rows with each begin and stop; -1 where there are none |
    | descents | a row for each edge (see `layout`) |
    | waits | a row for each state (see `layout`) |
    """

    total: int
    offsets: Array
    satisfied: Array
    profiles: Array
    ends: Array
    ranks: Array
    begins: Array
    first: int
    starts: Array
    stops: Array
    descents: Array
    waits: Array


class Events(NamedTuple):
    """Of each event of a batch its lane, end and start time, the template rows that it selects (or a RowBatch); of each
    predicate [predicate, row] whether it holds."""

    lane: Array
    time: Array
    start: Array
    predicates: Array
    rows: Any


class StartHits(NamedTuple):
    """Of each event the edges that it begins a run along, as far as predicates say: `edges[offsets[row]:offsets[row +
    1]]`. Without offsets, or where the first is no 0, all starts have to be asked."""

    offsets: Array
    edges: Array


class Batch(NamedTuple):
    """A batch of events, and what guards are evaluated with. `base` is the position of its first event. Kernels without
    the interpreter get no parameters and no stack."""

    base: int
    events: Events
    columns: Values
    parameters: Any
    code: Bytecode
    stack: Any
    hits: StartHits


class Evaluated(NamedTuple):
    """The part of a batch that is computed for the kernels alone. Its arrays serve for the next batch, too; they may be
    longer than the batch."""

    predicates: Array
    rows: Any
    columns: Values
    parameters: Any
    code: Bytecode
    stack: Any
    hits: StartHits


class BatchEvents(NamedTuple):
    """The other part: the position of the first event, and of each event its lane, end and start time."""

    base: int
    lane: Array
    time: Array
    start: Array


class Lanes(NamedTuple):
    """Of each list and state its first run; of each lane how many runs it has (-1: refused), how many it may have, the
    time of its present instant, and where there are many states, as bits, those that may have runs."""

    heads: Array
    lengths: Array
    limits: Array
    instants: Array
    occupied: Array


class Nodes(NamedTuple):
    """Events of repeated steps: the node before it, its position, its step (negative: the bound of a gap)."""

    parent: Array
    position: Array
    step: Array


class Timers(NamedTuple):
    """A heap (see `timer_heap`): when each is due, its owner (a run, a lane), the serial number the owner had then."""

    due: Array
    owner: Array
    serial: Array


class RunIndex(NamedTuple):
    """The chains of runs that carry rows (see `run_index`): the first run of each bucket, the links of each run, the
    hand that goes round the runs, and a secret, so that nobody who sends events can choose buckets."""

    buckets: Array
    links: Array
    hand: Array
    secret: Array


class Runs(NamedTuple):
    """All runs of an NFA: their cells (see `layout`), the same cells as times, and what belongs to them. Only runs that
    carry rows of a template have an index."""

    registers: Values
    times: Array
    free: Array
    lanes: Lanes
    nodes: Nodes
    timers: Timers
    counters: Array
    index: Any = None


class Output(NamedTuple):
    """Of each match the position of its first event, its template rows, state, lane, row of its last event (-1: time
    completed it), last node of its chain; [final, match] the slots it carries, and which are NULL."""

    first: Array
    rows: Array
    state: Array
    lane: Array
    row: Array
    chain: Array
    slots: Array
    nulls: Array


class Lockstep(NamedTuple):
    """The states that wait, the last first; the slots of a run; the registers of all runs in one dimension."""

    waiting: Array
    slots: Array
    registers: Values


class Exclusion(NamedTuple):
    """The exclusions of AFTER MATCH, applied to the runs that an observer sees.

    `by` is their kind (see `probe`). By beginning: up to which first event the matches of each event exclude runs, and
    so far those of each lane. By events: a hash table of those spent so far, and those spent in this batch, sorted,
    each with the row from which on it is spent.
    """

    by: int
    past_of_row: Array
    past_of_lane: Array
    spent: Array
    positions: Array
    rows: Array


class ProbedLanes(NamedTuple):
    """Of each lane what its latest probe saw, at which position, and the last time at which that holds if no event
    touches its runs."""

    position: Array
    configuration: Array
    furthest: Array
    until: Array


class ProbeArrays(NamedTuple):
    """The arrays of a probe, by which an observer sees the runs after each event.

    `configurations` are written, with `bits` of the states in them; `key` is the column that tells processes apart.
    A run at the state `limits[i, 0]` is of no use once the time in its slot `limits[i, 1]` is more than `amounts[i]`
    ago. `furthest` are the furthest runs as matches, counted in `counters`; `furthest_of` has the number of that of
    each event, from 1 on. `part_words` are configurations of the pattern's parts, with `part_bits` of the states in
    them. `position_slots` are slots that hold positions of events. Where `remembers`, `lanes` saves probes; `forever`
    is later than every time.
    """

    configurations: Array
    furthest_of: Array
    bits: Array
    key: Any
    limits: Array
    amounts: Array
    furthest: Output
    counters: Array
    part_words: Array
    part_bits: Array
    exclusion: Exclusion
    position_slots: Array
    remembers: bool
    lanes: ProbedLanes
    forever: Any


class ArrivalTables(NamedTuple):
    """The steps of an arrival plan, as `arrival_walk` reads them. `x_starts[s]` is where `x` of step s begins.

    | field | holds |
    | --- | --- |
    | entry_spans | begin and end of the code that an arriving event must satisfy |
    | join_spans | begin and end of the code that an arrival must satisfy when the walk binds it |
    | stored_columns | the columns whose values an arrival stores |
    | slot_loads | a stored value, and the slot that it is loaded into when the walk binds its arrival |
    | final_loads | a stored value, and its place in the match |
    | position_finals | for each step, the place of its event's position in the match |
    | gap_after | for each negated step, the step before it |
    | gap_keyed | for each negated step, whether its latest event is found by the key or by the lane |
    """

    entry_starts: Array
    entry_spans: Array
    join_starts: Array
    join_spans: Array
    stored_starts: Array
    stored_columns: Array
    slot_starts: Array
    slot_loads: Array
    final_starts: Array
    final_loads: Array
    position_finals: Array
    gap_after: Array
    gap_keyed: Array
