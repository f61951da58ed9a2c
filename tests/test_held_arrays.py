"""Held arrays: a kernel reads from the notes what Python holds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from foretell.jit import kernel, read_only
from foretell.machine.kernels.held import Held


class Inner(NamedTuple):
    cells: Any
    amount: int
    flag: bool
    word: Any


class Outer(NamedTuple):
    inner: Inner
    times: Any


@kernel
def _read(held: Held[Outer], row: int, column: int) -> Any:
    inner, times = held.value
    return inner.cells[row, column], inner.cells.size, inner.amount, inner.flag, inner.word, times[row]


@kernel
def _write(held: Held[Outer], row: int, column: int, value: int) -> None:
    held.value.inner.cells[row, column] = value


def held(cells: Any, times: Any, *, flag: bool = True) -> Held[Outer]:
    return Held(Outer(Inner(cells, -7, flag, np.uint64(2**63 + 5)), times))


@pytest.mark.parametrize("cells", [np.arange(12).reshape(3, 4), np.arange(24).reshape(3, 8)[:, ::2]])
@pytest.mark.parametrize("times", [np.array([0.5, 1.5, 2.5]), np.array([7, 8, 9], np.int32)])
def test_a_kernel_reads_what_is_held(cells: Any, times: Any) -> None:
    for flag in (False, True):
        given = held(cells, times, flag=flag)
        for row, column in ((0, 0), (1, 3), (2, 1)):
            expected = cells[row, column], cells.size, -7, flag, 2**63 + 5, times[row]
            assert _read(given, row, column) == expected


@pytest.mark.parametrize(
    "cells",
    [
        np.arange(12).reshape(3, 4),
        np.arange(12).reshape(3, 4).T,
        np.arange(24).reshape(3, 8)[:, ::2],
        read_only(np.zeros((2, 2), np.uint8)),
    ],
)
def test_the_type_is_that_of_numba(cells: Any) -> None:
    given: Any = held(cells, None)
    assert given._numba_type_.value == numba.typeof(given.value)  # type: ignore[no-untyped-call]  # Numba has no type here


def test_a_kernel_writes_into_held_arrays() -> None:
    cells = np.zeros((3, 4), np.int64)
    _write(held(cells, np.zeros(3)), 2, 1, 9)
    assert cells[2, 1] == 9
    assert cells.sum() == 9


def test_held_arrays_stay_alive() -> None:
    given = held(np.arange(12).reshape(3, 4), np.array([0.5, 1.5, 2.5]))
    for _ in range(100):
        np.full(12, -1)  # would take the memory of arrays that are gone
    assert _read(given, 1, 3)[0] == 7
