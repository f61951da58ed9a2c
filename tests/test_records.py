"""Records are dataclasses: what `dataclasses` would make of the same class behaves the same."""

from __future__ import annotations

import copy
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np
import pytest

import foretell
from foretell import records
from foretell.records import record, written_init


@record
class Plain:
    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict, init=False, compare=False, repr=False)
    place: int = field(default=0, compare=False, repr=False, kw_only=True)


@record
class Longer(Plain):
    d: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.seen["d"] = len(self.d)


@record
class Empty:
    pass


@record
class Single:
    values: Any


def test_fields_and_defaults() -> None:
    made = Plain(1)
    assert (made.a, made.b, made.c, made.seen, made.place) == (1, "b", [], {}, 0)
    assert Plain(1).c is not made.c
    assert Plain(2, "x", [3], place=7).place == 7
    assert Longer(1, d=(1, 2)).seen == {"d": 2}
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        Plain()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Plain(1, "b", [], {})  # type: ignore[call-arg, arg-type]


def test_equality_hashes_and_texts() -> None:
    assert Plain(1, c=[2], place=3) == Plain(1, c=[2])
    assert Plain(1) != Plain(2)
    assert Longer(1) != Plain(1)
    assert hash(Single(3)) == hash(Single(3))
    assert Empty() == Empty()
    assert len({Empty(), Empty(), Single((1,)), Single((1,))}) == 2
    assert repr(Longer(1, d=(2,))) == "Longer(a=1, b='b', c=[], d=(2,))"
    array = np.arange(3)
    assert Single(array) == Single(array)  # the same object, as dataclasses compare it


def test_copies() -> None:
    made = Longer(1, "x", [2], (3,), place=5)
    assert replace(made, b="y") == Longer(1, "y", [2], (3,))
    assert replace(made, b="y").place == 5
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))


def test_patterns() -> None:
    match Plain(4, "z"):
        case Plain(a, b):
            assert (a, b) == (4, "z")


def test_several_threads_make_the_first() -> None:
    for _ in range(50):

        @record
        class Fresh:
            a: int
            b: int = 2

        made: list[Any] = []
        threads = [Thread(target=lambda n=n, to=made, kind=Fresh: to.append(kind(n))) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted((each.a, each.b) for each in made) == [(0, 2), (1, 2), (2, 2), (3, 2)]


def _records() -> Iterator[Any]:
    """All records of the package."""
    for module in pkgutil.walk_packages(foretell.__path__, "foretell."):
        if "spark" in module.name or module.name.endswith("__main__"):
            continue
        for value in vars(import_module(module.name)).values():
            is_own = isinstance(value, type) and value.__module__ == module.name and "__init__" in vars(value)
            if is_own and is_dataclass(value) and value.__repr__ is records._repr:
                yield value


def test_constructors_are_those_of_dataclasses() -> None:
    count = 0
    for cls in _records():
        own = [(each.name, each.type, _specifier(each)) for each in fields(cls)]
        twin: Any = dataclass(repr=False, eq=False)(
            type(cls.__name__, (), {"__annotations__": {n: t for n, t, _ in own}} | {n: s for n, _, s in own})
        )
        assert _parameters(written_init(cls)) == _parameters(twin.__init__), cls
        count += 1
    assert count > 200


def _specifier(each: Any) -> Any:
    if each.default_factory is not MISSING:
        return field(default_factory=each.default_factory, init=each.init, kw_only=each.kw_only)
    if each.default is not MISSING:
        return field(default=each.default, init=each.init, kw_only=each.kw_only)
    return field(init=each.init, kw_only=each.kw_only)


def _parameters(function: Any) -> list[tuple[str, Any, bool]]:
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default is inspect.Parameter.empty) for each in found]
