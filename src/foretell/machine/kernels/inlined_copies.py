"""Cheaper copies of the functions that Numba inlines, while kernels are compiled.

Numba copies each function that it inlines twice, block by block, and with every block the scope of the function with
all its variables, of which only the names are read afterwards. That was an eighth of the time of a first start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import Any

from numba.core import ir as untyped

# Parts of Numba that its type hints leave out.
_ir: Any = untyped

#: The fields of a scope of which a copy is known to do. Other versions of Numba may have others.
_FIELDS = {"parent", "localvars", "loc", "redefined", "var_redefinitions"}

_lock = Lock()
_users = 0


@contextmanager
def cheap_copies() -> Iterator[None]:
    """Copy scopes without their variables; for all threads, until the last of those that want it has done."""
    global _users
    with _lock:
        applies = _users > 0 or _is_known()
        if applies:
            _users += 1
            _ir.Scope.__deepcopy__, _ir.Loc.__deepcopy__ = _copied_scope, _same_place
    try:
        yield
    finally:
        with _lock:
            if applies:
                _users -= 1
                if not _users:
                    del _ir.Scope.__deepcopy__, _ir.Loc.__deepcopy__


def _is_known() -> bool:
    """Whether this version of Numba has the scopes that are copied here, and no such way of its own."""
    scope = _ir.Scope(None, _ir.Loc("", 0))
    own = {"__deepcopy__"} & (vars(_ir.Scope).keys() | vars(_ir.Loc).keys())
    return vars(scope).keys() == _FIELDS and vars(scope.localvars).keys() == {"_con"} and not own


def _copied_scope(scope: Any, memo: dict[int, Any]) -> Any:
    """A scope to which names can be added. It has the same variables: nobody changes these."""
    copied = copy(scope)
    copied.localvars = copy(scope.localvars)
    copied.localvars._con = dict(scope.localvars._con)
    copied.redefined = scope.redefined.copy()
    copied.var_redefinitions = defaultdict(set, {name: set(to) for name, to in scope.var_redefinitions.items()})
    return copied


def _same_place(place: Any, memo: dict[int, Any]) -> Any:
    """A place in a source file does not change."""
    return place
