"""How the kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    """What compiles a function and leaves its type as it is."""

    def __call__(self, function: Function, /) -> Function: ...


# Numba would count references to every array at every call, atomically: one comparison took 164 ns with that and 13
# without. What allocates nothing need not count. The option works but is not documented, hence not in Numba's types.
_UNCOUNTED: dict[str, Any] = {"_nrt": False}

#: For what allocates nothing.
kernel: _Decorator = njit(cache=True, error_model="numpy", boundscheck=False, **_UNCOUNTED)

#: The same, put into its callers: an array is some seven numbers to a callee, and a call copies them all.
inlined: _Decorator = njit(cache=True, error_model="numpy", boundscheck=False, forceinline=True, **_UNCOUNTED)

#: For what allocates.
_COUNTED: dict[str, Any] = {}
compiled: _Decorator = njit(cache=True, error_model="numpy", boundscheck=False, **_COUNTED)
