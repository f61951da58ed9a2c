"""Held arrays: named tuples of arrays that Numba need not take apart at each call of a kernel.

When Python calls a kernel, Numba looks at each array, which takes 0.4 µs: with the tables of a plan and the runs of an
engine, some fifty of them, longer than one event takes. `Held` writes down once where the arrays lie, and the kernel
reads that: `held.value` is the tuple again. Kernels ask for it once, before their loops.

The notes are words of 64 bits: of an array its address, its shape and its strides in bytes; of a number its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Generic, TypeVar

import numba
import numpy as np
from numba import extending
from numba.core import cgutils, types
from numba.core.typing import templates
from numba.np import numpy_support

# Parts of Numba that its type hints leave out.
_numba: Any = numba
_extending: Any = extending
_cgutils: Any = cgutils
_numpy_support: Any = numpy_support
_types: Any = types

Value = TypeVar("Value", bound=tuple[Any, ...])


class Held(Generic[Value]):
    """A tuple of arrays, of numbers, of None, and of such tuples, as kernels take it. Where another held tuple is known
    to be of the same type, it gives that type, which takes time to find."""

    __slots__ = ("_notes", "_numba_type_", "address", "value")

    def __init__(self, value: Value, like: Held[Value] | None = None) -> None:
        self.value = value
        self._notes = np.array(list(_words(value)), np.int64)
        self.address = self._notes.ctypes.data
        self._numba_type_: HeldType = HeldType(_type_of(value)) if like is None else like._numba_type_


def _type_of(value: Any) -> Any:
    """The type that `numba.typeof` finds, which loads NumPy's masked arrays and makes each array's type anew."""
    if isinstance(value, tuple):
        return _types.BaseTuple.from_types([_type_of(part) for part in value], type(value))
    if isinstance(value, np.ndarray):
        return _array_type(value.dtype, value.ndim, _numpy_support.map_layout(value), value.flags.writeable)
    return _numba.typeof(value)


@cache
def _array_type(dtype: np.dtype[Any], dimensions: int, layout: str, writeable: bool) -> Any:
    return _types.Array(_numpy_support.from_dtype(dtype), dimensions, layout, readonly=not writeable)


def _words(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for part in value:
            yield from _words(part)
    elif isinstance(value, np.ndarray):
        yield from (value.__array_interface__["data"][0], *value.shape, *value.strides)
    elif value is not None:
        yield int(np.array(value).astype(np.int64))


class HeldType(types.Type):
    """The type of held tuples, by the type of the tuple."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(name=f"Held({value})")


_extending.register_model(HeldType)(_extending.models.OpaqueModel)


def _unbox(typ: Any, held: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(held, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return _extending.NativeValue(pointer, is_error=_cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@templates.infer_getattr
class _HeldAttributes(templates.AttributeTemplate):
    key = HeldType

    def resolve_value(self, held: HeldType) -> Any:
        return held.value


def _read(context: Any, builder: Any, held: Any, pointer: Any) -> Any:
    notes = _Notes(context, builder, builder.bitcast(pointer, _cgutils.intp_t.as_pointer()))
    return notes.read(held.value)


_extending.unbox(HeldType)(_unbox)
_extending.lower_getattr(HeldType, "value")(_read)


class _Notes:
    """Reads notes word by word."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self._context, self._builder, self._words, self._next = context, builder, words, 0

    def read(self, kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts: Any = kind
            return self._context.make_tuple(self._builder, kind, [self.read(part) for part in parts])
        if isinstance(kind, types.Array):
            return self._array(kind)
        if isinstance(kind, types.NoneType):
            return self._context.get_dummy_value()
        return self._context.cast(self._builder, self._word(), types.int64, kind)

    def _array(self, kind: Any) -> Any:
        from numba.np import arrayobj as untyped  # only to compile

        arrayobj: Any = untyped
        context, builder = self._context, self._builder
        array = arrayobj.make_array(kind)(context, builder)
        address = builder.inttoptr(self._word(), array.data.type)
        shape, strides = [self._word() for _ in range(kind.ndim)], [self._word() for _ in range(kind.ndim)]
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        arrayobj.populate_array(array, address, shape, strides, itemsize, None)
        return array._getvalue()

    def _word(self) -> Any:
        place = self._builder.gep(self._words, [_cgutils.intp_t(self._next)])
        self._next += 1
        return self._builder.load(place)
