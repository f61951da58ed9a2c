"""Records: frozen dataclasses that are quick to make, the classes and their objects.

`dataclasses` writes six functions for each frozen class and compiles them when the module is loaded: half a millisecond
for each of the 300 classes of a start. Records share their functions but for the constructor, which `dataclasses`
writes when the first object is made. Otherwise a record is a dataclass: it has fields, `replace` works, equal ones have
equal hashes.

Type checkers refuse to set a field of a record. A frozen dataclass refuses it at run time too, and pays for that: its
fields are set one by one through `object.__setattr__`, which takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

Record = TypeVar("Record")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Record]) -> type[Record]:
    """A dataclass whose fields nobody sets."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # `dataclasses` would format a signature, which takes long
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    own = made.__dict__
    if "__init__" not in own:
        made.__init__ = _first_init(made)
    if "__repr__" not in own:
        made.__repr__ = _repr
    values = _compared(made)
    if own.get("__hash__") is None:
        made.__hash__ = lambda value: hash(values(value))
    if "__eq__" not in own:
        made.__eq__ = lambda value, other: (
            values(value) == values(other) if type(other) is type(value) else NotImplemented
        )
    return made  # type: ignore[no-any-return]


def _compared(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Gives the values by which records are compared."""
    names = [each.name for each in fields(cls) if each.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _repr(value: Any) -> str:
    shown = [f"{each.name}={getattr(value, each.name)!r}" for each in fields(value) if each.repr]
    return f"{type(value).__qualname__}({', '.join(shown)})"


def _first_init(cls: Any) -> Callable[..., None]:
    """A constructor that puts the real one in its own place; several threads may do so at once."""

    def first_init(self: Any, *values: Any, **named: Any) -> None:
        cls.__init__ = written_init(cls)
        cls.__init__(self, *values, **named)

    return first_init


def written_init(cls: Any) -> Callable[..., None]:
    """The constructor that `dataclasses` writes for a class, taken from a subclass with the same fields."""
    twin: Any = type(cls)(cls.__name__, (cls,), {"__doc__": cls.__name__, "__qualname__": cls.__qualname__})
    init: Callable[..., None] = dataclass(repr=False, eq=False)(twin).__init__
    return init
