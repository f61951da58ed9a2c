"""The facts about a plan by which `foretell.plan.strategy` chooses how it runs."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.records import record


@record
class NfaShape:
    """The facts about a flattened NFA by which its kernel is chosen."""

    states: int
    next_only: bool  # every state waits for the very next event, and ties are not simultaneous
    runs_code: bool  # a guard compares with bound events
    has_window: bool
    goes_back: bool  # an edge leads to an earlier state
    computes: bool  # an edge computes a register by code, or notes a gap
    begins_on_every_event: bool
    chain_nodes: int  # nodes of repeated steps that one event may add to a run
    keyed: bool = False  # a key indexes the runs of a state
    longest: bool = False  # AFTER MATCH LONGEST, and nothing is asked of a match after the kernel
    rows: bool = False  # runs carry the rows of a template that agree so far


@record
class WaitShape:
    """The facts about a state by which it is chosen how an event finds the runs there that carry rows of a template:
    the sites of which it must satisfy a profile to concern them, and why there is not one, if so."""

    sites: frozenset[int]
    hindrance: str | None


@record
class DetectionShape:
    """The facts by which it is chosen where predicates are evaluated: the time that each predicate which only later
    steps need takes for an event; why no part of a batch can be left out, if so."""

    nanoseconds: Mapping[int, float]
    hindrance: str | None
