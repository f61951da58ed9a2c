"""The concurrent form of a machine over arrays of lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.correlate.flat_machine import FlatMachine
from foretell.machine.kernels.correlation import CorrelatedEvents, EventScratch, LaneStates, TokenOutput, run_concurrent

#: Room for tokens at first.
_FIRST_ROOM = 1024

#: A kernel over events from some row on, with room for tokens: returns where it stopped, and how many there are.
TokenKernel = Callable[[int, TokenOutput], tuple[int, int]]


def concurrent_states(flat: FlatMachine, lanes: int) -> LaneStates:
    """The states of lanes that have seen nothing."""
    active, counters = flat.initial()
    return LaneStates(np.tile(active, (lanes, 1)), np.tile(counters, (lanes, 1)))


def run_lanes(flat: FlatMachine, lane: Ints, satisfied: NDArray[np.uint8], states: LaneStates) -> tuple[Ints, Ints]:
    """Let lanes read events, and return the event and the number of each token."""
    scratch = EventScratch(
        fired=np.zeros(flat.most_readers, np.int64),
        latest=np.full(flat.modules, -1),
        tokens=np.zeros((flat.most_tokens, 2), np.int64),
    )
    events = CorrelatedEvents(lane, satisfied)
    return collected(
        lambda done, output: run_concurrent(done, events, flat.tables, states, scratch, output),
        len(lane),
        flat.most_tokens,
    )


def collected(kernel: TokenKernel, events: int, most: int) -> tuple[Ints, Ints]:
    """The event and the number of each token of a kernel, which stops where there is no room for the tokens of an
    event; these are so many at the most."""
    found: list[TokenOutput] = []
    done, room = 0, max(_FIRST_ROOM, 2 * most)
    while done < events:
        output = TokenOutput(np.empty(room, np.int64), np.empty(room, np.int64))
        done, written = kernel(done, output)
        found.append(TokenOutput(output.row[:written], output.token[:written]))
        room = max(room, 2 * written)
    nothing = np.zeros(0, np.int64)
    return (
        np.concatenate([nothing, *(output.row for output in found)]),
        np.concatenate([nothing, *(output.token for output in found)]),
    )
