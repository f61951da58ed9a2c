"""Dispatchers of kernels: a kernel that another one calls is compiled as a part of it, and optimised only there.

Numba optimises each function and makes machine code and two wrappers of it, also if Python never calls it, and does so
again within each of its callers. Half of the first start went into that.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba.core import codegen, compiler, registry

from foretell.machine.kernels.inlined_copies import cheap_copies

# Parts of Numba that its type hints leave out.
_library: Any = codegen.JITCodeLibrary
_compiler: Any = compiler.Compiler
_dispatcher: Any = registry.CPUDispatcher


class KernelDispatcher(_dispatcher):  # type: ignore[misc]  # Numba has no type here
    """Compiles a kernel for Python. Other kernels call its part."""

    def __init__(self, function: Callable[..., Any], targetoptions: dict[str, Any]) -> None:
        super().__init__(function, targetoptions={**targetoptions, "no_cfunc_wrapper": True})

    @cached_property
    def part(self) -> PartDispatcher:
        return PartDispatcher(self.py_func, self.targetoptions)

    def compile(self, sig: Any) -> Any:
        """Compiling makes millions of objects and drops few: the search for garbage among them took an eighth of it."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            with cheap_copies():
                return super().compile(sig)
        finally:
            if was_enabled:
                gc.enable()

    def add_overload(self, cres: Any) -> None:
        super().add_overload(cres)
        for environment in cres._find_referenced_environments():  # those of its parts are not there yet
            cres.codegen.set_env(environment.env_name, environment)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.part.get_overload(sig)


class PartDispatcher(_dispatcher):  # type: ignore[misc]  # Numba has no type here
    """Compiles a kernel as a part of those that call it."""

    def __init__(self, function: Callable[..., Any], targetoptions: dict[str, Any]) -> None:
        options = {**targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_PartCompiler)

    def add_overload(self, cres: Any) -> None:
        """Make the part known to callers, under a key in place of the function that Python would call."""
        keyed = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(keyed.entry_point, keyed.fndesc, [keyed.library])
        self.overloads[tuple(keyed.signature.args)] = keyed


class _PartCompiler(_compiler):  # type: ignore[misc]  # Numba has no type here
    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.flags.no_compile = True
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _PartLibrary(_library):  # type: ignore[misc]  # Numba has no type here
    """Code before optimisation, with that of its callees."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """The callers do that, after they have linked it in."""

    def _finalize_final_module(self) -> None:
        self._finalized = True
