"""The parts of a runtime's snapshot that planning needs before the runtime starts: its strings and its groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foretell.filter.string_dictionary import StringDictionary
from foretell.plan.compile import GroupRecord, InputGroupRecord
from foretell.plan.strategy import GroupKind, TemplateMode


def strings_of(state: Mapping[str, Any]) -> StringDictionary:
    """The string dictionary of a snapshot."""
    return StringDictionary.restore(state["strings"])


def records(state: Mapping[str, Any]) -> tuple[InputGroupRecord, ...]:
    """The groups of a snapshot, as the plan compiler restores them."""
    return tuple(
        InputGroupRecord(tuple(recorded["statements"]), tuple(map(_record, recorded["groups"])))
        for recorded in state["fed"]
    )


def _record(group: Mapping[str, Any]) -> GroupRecord:
    joined = tuple((name, text) for name, text in group["joined"])
    observed = group.get("watcher") is not None
    template = TemplateMode.EXECUTOR_PER_ROW if group["rows"] is None else _SERVES_ALL[group.get("served")]
    return GroupRecord(GroupKind(group["kind"]), joined, tuple(group["moves"]), template, observed)


#: How one executor serves all rows, as snapshots say it; early ones know one way.
_SERVES_ALL = {
    None: TemplateMode.ONE_EXECUTOR,
    "profiles": TemplateMode.PROFILE_INDEX,
    "runs": TemplateMode.SHARED_RUNS,
}
