"""Kernels that others call are compiled as parts of them, without code for Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foretell import jit
from foretell.machine.kernels import decorators
from foretell.machine.kernels.decorators import compiled, inlined, kernel  # without the disk cache: each run compiles


@inlined
def _checked(x: Any, least: Any) -> Any:
    if x < least:
        raise ValueError("a number is too small")
    return x


@kernel
def _sum(numbers: Any, least: Any) -> Any:
    total = 0
    for n in range(numbers.size):
        total += _checked(numbers[n], least)
    return total


@compiled
def _repeated(numbers: Any, least: Any) -> Any:
    return np.full(2, _sum(numbers, least))


def test_a_kernel_is_a_part_of_those_that_call_it() -> None:
    assert _repeated(np.arange(4), 0).tolist() == [6, 6]
    part: Any = _sum
    assert part.part.overloads
    assert not part.overloads, "nothing of it is compiled for Python"


def test_a_part_raises_through_its_callers() -> None:
    with pytest.raises(ValueError, match="a number is too small"):
        _repeated(np.arange(4), 1)


def test_a_part_can_be_called_from_python_as_well() -> None:
    assert _repeated(np.arange(3), 0).tolist() == [3, 3]
    assert _sum(np.arange(3), 0) == 3
    with pytest.raises(ValueError, match="a number is too small"):
        _sum(np.arange(3), 2)


def test_kernels_that_were_compiled_in_another_way_are_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    summed: Any = _sum
    cached: Any
    again: Any
    other: Any
    cached, again, other = (jit.kernel(summed.py_func) for _ in range(3))
    assert cached._cache._stamp == again._cache._stamp
    monkeypatch.setattr(decorators, "COMPILATION", decorators.COMPILATION + 1)
    assert cached._cache._stamp != other._cache._stamp
