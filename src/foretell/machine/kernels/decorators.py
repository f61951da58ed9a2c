"""Decorators that compile kernels with Numba.

Outside this package use those of `foretell.jit`, which also keep compiled kernels on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numba

from foretell.machine.kernels.dispatchers import KernelDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])


class Decorator(Protocol):
    """Compiles a function and leaves its type as it is."""

    def __call__(self, function: Function, /) -> Function: ...


#: Counts the ways of compiling (see dispatchers): kernels in the disk cache that were compiled in another are outdated.
COMPILATION = 1

_config: Any = numba.config  # its names are not in the type hints
_OPTIONS: dict[str, Any] = {"nopython": True, "error_model": "numpy", "boundscheck": False}


def _njit(**options: Any) -> Decorator:
    def decorate(function: Function) -> Function:
        return function if _config.DISABLE_JIT else cast(Function, KernelDispatcher(function, _OPTIONS | options))

    return decorate


# Numba counts references to every array at every call, atomically: one comparison took 164 ns with counting and 13
# without. A kernel that allocates nothing needs no counts. The option works but Numba does not document it.
_NO_REFERENCE_COUNTS: dict[str, Any] = {"_nrt": False}

#: For kernels that allocate nothing.
kernel: Decorator = _njit(**_NO_REFERENCE_COUNTS)

#: For kernels that allocate nothing and go into their callers: a call copies some seven numbers for each array.
inlined: Decorator = _njit(forceinline=True, **_NO_REFERENCE_COUNTS)

#: The same for functions that a kernel calls at one place: Numba copies their statements there before it compiles, so
#: that they cost no compilation of their own. What a kernel rarely does is better `inlined`: expanded probes, which few
#: statements need, made `lockstep` 6% slower.
expanded: Decorator = _njit(inline="always", **_NO_REFERENCE_COUNTS)

#: For kernels that allocate.
compiled: Decorator = _njit()
