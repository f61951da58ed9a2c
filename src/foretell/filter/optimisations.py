"""Optimisations of many rows that benchmarks and tests switch off, to see what each is worth (Cayuga, section 4.2).

What a table is loaded with holds for it from then on. The matches are the same with and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from foretell.records import record


@record
class Optimisations:
    """`merges`: rows with equal conditions have one profile, and one partial match until they differ (the paper's state
    merging). `indexes`: an index finds the profiles that an event satisfies (its FR-index). `instances`: an event
    visits the partial matches whose profile it satisfies (its indexes of instances)."""

    merges: bool = True
    indexes: bool = True
    instances: bool = True


_ALL = Optimisations()
_chosen: ContextVar[Optimisations] = ContextVar("optimisations", default=_ALL)


def chosen_optimisations() -> Optimisations:
    """The optimisations of the tables that are loaded now: all of them, but where `with_optimisations` says others."""
    return _chosen.get()


@contextmanager
def with_optimisations(optimisations: Optimisations) -> Iterator[None]:
    """Tables that are loaded here have only these optimisations."""
    token = _chosen.set(optimisations)
    try:
        yield
    finally:
        _chosen.reset(token)
