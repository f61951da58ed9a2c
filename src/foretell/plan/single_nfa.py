"""The NFA of one subscription: it is made once, however many engines, snapshots and explanations need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import choose_keys


class _NfaKey(NamedTuple):
    """All that an NFA depends on but the codes of strings."""

    subscription: int
    parameters: tuple[tuple[str, Type], ...]
    selected: bool
    profiled: bool
    observed: bool
    edges: int


#: An NFA holds its subscription, so that no other one has that number while the entry is there.
_known: WeakValueDictionary[_NfaKey, SharedNfa] = WeakValueDictionary()


def single_nfa(
    subscription: CheckedSubscription,
    code_of: Callable[[str], int],
    parameters: Mapping[str, Type] | None = None,
    *,
    selected: bool = False,
    profiled: bool = False,
    observed: bool = False,
    edges: int = MOST_EDGES,
) -> SharedNfa:
    """The NFA of a subscription alone; while one is in use, it is the same for all who ask, if `code_of` gives strings
    the same codes. `parameters`, `selected`, `profiled` and `observed` are as in `plan.strategy`, `edges` is
    `Limits.edges`."""
    key = _NfaKey(id(subscription), tuple((parameters or {}).items()), selected, profiled, observed, edges)
    known = _known.get(key)
    if known is None or not known.symbols.agrees_with(code_of):
        known = _known[key] = _made(subscription, code_of, key, parameters)
    return known


def _made(
    subscription: CheckedSubscription,
    code_of: Callable[[str], int],
    key: _NfaKey,
    parameters: Mapping[str, Type] | None,
) -> SharedNfa:
    for keyed in (True, False):
        empty = SharedNfa.empty(code_of, subscription.simultaneous, subscription.time, keyed=keyed)
        nfa, _ = empty.joined_by(
            subscription, parameters, selected=key.selected, profiled=key.profiled, edges=key.edges
        )
        if choose_keys(nfa, observed=key.observed).value:
            break
    return nfa
