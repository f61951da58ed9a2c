"""Compilation of kernels: every one is kept on disk, and Numba is as before when it is over."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numba.core import ir as untyped
from numba.core.dispatcher import Dispatcher

import foretell.correlate
import foretell.machine.exec  # noqa: F401 - gives kernels their cache
from foretell.jit import kernel
from foretell.machine import kernels
from foretell.machine.kernels import inlined_copies

_ir: Any = untyped

MODULES = sorted(path.stem for path in Path(kernels.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", MODULES)
def test_kernels_that_python_calls_are_kept_on_disk(name: str) -> None:
    """A kernel that allocates is called by Python alone, and so is the loop of an executor."""
    module = import_module(f"foretell.machine.kernels.{name}")
    called: list[Any] = [
        value
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher)
        and value.py_func.__module__ == module.__name__
        and (value.targetoptions.get("_nrt", True) or key.startswith("run_"))
    ]
    assert {type(value._cache).__name__ for value in called} <= {"_DiskCache"}


@kernel
def _tripled(x: Any) -> Any:
    return x * 3


def test_numba_copies_as_before_when_a_kernel_is_compiled() -> None:
    assert _tripled(14) == 42
    assert not {"__deepcopy__"} & (vars(_ir.Scope).keys() | vars(_ir.Loc).keys())


def test_copied_scopes_can_be_added_to() -> None:
    place = _ir.Loc("here", 1)
    scope = _ir.Scope(None, place)
    scope.define("x", place)
    with inlined_copies.cheap_copies(), inlined_copies.cheap_copies():
        copied = _ir.Scope.__deepcopy__(scope, {})
    copied.redefine("x", place)
    copied.define("y", place)
    assert (list(copied.localvars._con), list(scope.localvars._con)) == (["x", "x.1", "y"], ["x"])
    assert not scope.redefined
    assert not scope.var_redefinitions
