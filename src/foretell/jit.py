"""Numba compilation with a disk cache: compiled kernels are there at the next start."""

from __future__ import annotations

import dis
import pickle
import sys
from collections.abc import Iterator, Mapping
from enum import EnumType
from functools import cached_property
from io import BytesIO
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import llvmlite
import numba
import numpy as np
from numba.core import compiler, environment, runtime, serialize, sigutils, types
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from foretell.machine.kernels import decorators
from foretell.machine.kernels.decorators import Decorator, Function
from foretell.machine.kernels.held import HeldType
from foretell.progress import announce
from foretell.storage.disk_cache import digest, load_cached, store_cached, writable_folder

# Parts of Numba that its type hints leave out.
_compiler: Any = compiler
_environment: Any = environment
_runtime: Any = runtime
_serialize: Any = serialize
_sigutils: Any = sigutils
_jit: Any = numba.jit

_WHY_COMPILING = "compiling the engine, which later runs need not do"
_WHY_COMPILING_ALWAYS = (
    "compiling the engine, at every start: set NUMBA_CACHE_DIR to a folder that only you can write to"
)


def cache_on_disk(*modules: ModuleType) -> None:
    """Keep the compiled versions of the kernels that these modules define for the next start."""
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__:
                _attach_cache(value)


def _attach_cache(dispatcher: Any) -> None:
    dispatcher._cache = _DiskCache(dispatcher)


def _cached(decorator: Decorator) -> Decorator:
    def decorate(function: Function) -> Function:
        dispatcher = decorator(function)
        if isinstance(dispatcher, Dispatcher):  # where NUMBA_DISABLE_JIT is set it is the function itself
            _attach_cache(dispatcher)
        return dispatcher

    return decorate


def with_callees(kernel: Function, others: Mapping[Any, Any], suffix: str) -> Function:
    """The kernel with other callees in place of some, wherever it calls them, also through its callees.

    It is compiled and cached on its own, by its name with the suffix: so a kernel need not be compiled with what its
    arguments never reach.
    """
    return cast(Function, _replaced(kernel, dict(others), suffix)) if others else kernel


def callees_of(kernel: Any) -> frozenset[Any]:
    """The kernels that a kernel calls, also through others."""
    found: set[Any] = set()
    waiting = [kernel]
    while waiting:
        new = set(_callees(waiting.pop()).values()) - found
        found |= new
        waiting += new
    return frozenset(found)


def _callees(dispatcher: Any) -> dict[str, Any]:
    """The kernels that the code of a kernel names."""
    if not isinstance(dispatcher, Dispatcher):  # NUMBA_DISABLE_JIT is set
        return {}
    function: Any = dispatcher.py_func
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    return {name: v for name, v in function.__globals__.items() if name in names and isinstance(v, Dispatcher)}


def _replaced(dispatcher: Any, known: dict[Any, Any], suffix: str) -> Any:
    """A dispatcher with other callees, or itself where it has none of them; `known` has those that are done."""
    if dispatcher in known:
        return known[dispatcher]
    if not isinstance(dispatcher, Dispatcher):
        return _replaced_in_python(dispatcher, known, suffix)
    function, callees = dispatcher.py_func, _callees(dispatcher)
    replaced = {name: _replaced(callee, known, suffix) for name, callee in callees.items()}
    if replaced == callees:
        known[dispatcher] = dispatcher
        return dispatcher
    clone = FunctionType(
        function.__code__, {**function.__globals__, **replaced}, function.__name__ + suffix, function.__defaults__
    )
    clone.__qualname__ = function.__qualname__ + suffix
    clone.__module__ = function.__module__
    known[dispatcher] = type(dispatcher)(clone, dispatcher.targetoptions)
    _attach_cache(known[dispatcher])
    return known[dispatcher]


def _replaced_in_python(function: Any, known: dict[Any, Any], suffix: str) -> Any:
    """The same where NUMBA_DISABLE_JIT is set, and kernels are functions."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    callees = {
        name: value
        for name, value in function.__globals__.items()
        if name in names and isinstance(value, FunctionType) and value.__module__.startswith(_KERNELS)
    }
    known[function] = function
    replaced = {name: _replaced(callee, known, suffix) for name, callee in callees.items()}
    if replaced != callees:
        others = {**function.__globals__, **replaced}
        known[function] = FunctionType(function.__code__, others, function.__name__ + suffix, function.__defaults__)
    return known[function]


_KERNELS = decorators.__name__.rpartition(".")[0]


class _DiskCache(_Cache):
    """A cache of the compiled versions of one kernel, in place of Numba's own.

    Numba's looks only at the file that defines the kernel: it goes on using a version after a callee or a constant in
    another file has changed. Here the key of a version is a digest of everything it was compiled from.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._enabled = True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        content = load_cached(self._name, self._key(sig, target_context.codegen())) if self._enabled else None
        if content is None:
            announce(_WHY_COMPILING if writable_folder() else _WHY_COMPILING_ALWAYS)
            return None
        # Numba would load all that compiling needs, which takes a third of a second. To run a compiled kernel its
        # memory management is enough, where the kernel allocates at all.
        if self._dispatcher.targetoptions.get("_nrt", True):
            _runtime.rtsys.initialize(target_context)
        # Numba has no other format for kernels than pickle; `load_cached` returns only what this user has stored.
        return _compiler.CompileResult._rebuild(target_context, *_KernelUnpickler(BytesIO(content)).load())

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._enabled:
            store_cached(
                self._name, self._key(sig, data.codegen), _serialize.dumps(data._reduce()), valid_prefix=self._stamp
            )

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """There is no index to empty."""

    @property
    def cache_path(self) -> None:
        return None

    @property
    def _name(self) -> str:
        function = self._dispatcher.py_func
        return f"{function.__module__}.{function.__qualname__}"

    @cached_property
    def _stamp(self) -> str:
        versions = str(decorators.COMPILATION), numba.__version__, llvmlite.__version__, np.__version__
        return digest([*versions, *compilation_inputs(self._dispatcher, set())])

    def _key(self, sig: Any, codegen: Any) -> str:
        arguments, _ = _sigutils.normalize_signature(sig)
        # A named tuple's type is written without the names of its fields, by which kernels find them.
        fields = [repr(names) for argument in arguments for names in _field_names(argument)]
        return f"{self._stamp}-{digest([str(sig), *fields, str(codegen.magic_tuple())])}.nbc"


class _KernelUnpickler(pickle.Unpickler):
    """Reads compiled kernels without importing the modules of the functions within them.

    Numba's own implementations of `np.append` and its like are in modules that import SciPy: a third of a second.
    Compiled code uses its constants, but no globals.
    """

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) == ("numba.core.environment", "_rebuild_env"):
            return _rebuild_environment
        return super().find_class(module_name, global_name)


def _rebuild_environment(module_name: str, constants: list[Any], name: str) -> Any:
    known = _environment.lookup_environment(name)
    if known is not None:
        return known
    module = sys.modules.get(module_name)
    new = _environment.Environment({"__name__": module_name} if module is None else vars(module))
    new.consts[:] = constants
    new.env_name = name
    _environment.Environment._memo[name] = new
    return new


def compilation_inputs(dispatcher: Any, seen: set[Any]) -> Iterator[str]:
    """The inputs of a kernel's compilation: its code, options, the constants it names, and the same of its callees."""
    if dispatcher in seen:
        return
    seen.add(dispatcher)
    function = dispatcher.py_func
    if function.__closure__:
        raise TypeError(f"the kernel {function.__qualname__} stands within a function whose variables it uses")
    yield function.__qualname__
    yield repr(function.__defaults__)
    yield str(sorted(dispatcher.targetoptions.items()))
    for code in _codes(function.__code__):
        yield code.co_code.hex()
        yield repr([c for c in code.co_consts if c is not function.__doc__ and not isinstance(c, CodeType)])
        for name in code.co_names:
            yield name
            value = function.__globals__.get(name)
            if isinstance(value, Dispatcher):
                yield from compilation_inputs(value, seen)
            elif isinstance(value, bool | int | float | np.generic) or _is_number_type(value):
                yield repr(value)
            elif isinstance(value, EnumType):
                yield repr(list(value))
            elif isinstance(value, type) and issubclass(value, tuple):
                yield repr(getattr(value, "_fields", ()))
            elif name in function.__globals__ and not _is_foreign(value) and _is_global(name, code):
                raise TypeError(f"the kernel {function.__qualname__} may name kernels and numbers, but not '{name}'")


def _field_names(kind: Any) -> Iterator[tuple[str, ...]]:
    """The fields of a named tuple, and of those within it."""
    if isinstance(kind, HeldType):
        kind = kind.value
    if isinstance(kind, types.BaseTuple):
        yield getattr(kind, "fields", ())
        for part in getattr(kind, "types", ()):
            yield from _field_names(part)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_number_type(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, np.generic)


def _is_foreign(value: object) -> bool:
    return isinstance(value, ModuleType) and not value.__name__.startswith("foretell")


def _is_global(name: str, code: CodeType) -> bool:
    """Whether the code loads a global of this name, and not only an attribute."""
    return any(i.opname == "LOAD_GLOBAL" and i.argval == name for i in dis.get_instructions(code))


#: The decorators of `foretell.machine.kernels.decorators`, with the disk cache.
kernel: Decorator = _cached(decorators.kernel)
inlined: Decorator = _cached(decorators.inlined)
compiled: Decorator = _cached(decorators.compiled)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to, as Arrow's arrays are: Numba would compile a kernel once more for others."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view
