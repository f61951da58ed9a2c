"""The rows of a template that one executor serves, in the form that the plan of its group has for them."""

from __future__ import annotations

from typing import Any, TypeAlias

from foretell.arrays import Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.profiled_rows import ProfiledRows
from foretell.machine.selected_rows import SelectedRows
from foretell.machine.trie_rows import TrieRows, recorded_profiles
from foretell.plan.match_plan import NfaGroupPlan
from foretell.storage.recorded_values import indices

ServedRows: TypeAlias = SelectedRows | ProfiledRows | TrieRows


def served_rows(
    plan: NfaGroupPlan,
    table: TemplateTable,
    strings: StringDictionary,
    since: int,
    profiles: list[Ints] | None = None,
) -> ServedRows | None:
    """The rows of a table from an event on; None where no executor serves all of them. `profiles` are those of a
    snapshot."""
    if plan.profiled is not None:
        return ProfiledRows.of(plan.profiled, table, strings, since)
    if plan.selection is not None:
        return SelectedRows.of(plan.selection, table, strings, since)
    levels = None if plan.nfa is None else plan.nfa.compiled.rows
    if levels is None:
        return None
    (member,) = plan.members.values()
    names = dict.fromkeys((*levels.parameters, *member.post_match.parameters))
    return TrieRows.of(levels, list(names), table, strings, since, profiles)


def restored_rows(
    plan: NfaGroupPlan, table: TemplateTable, strings: StringDictionary, state: Any, positions: int
) -> ServedRows:
    """The rows of a table as a snapshot of their group has them."""
    profiles, levels = None, None if plan.nfa is None else plan.nfa.compiled.rows
    if levels is not None:
        profiles = recorded_profiles(state["profiles"], len(levels.sites), len(table))
    rows = served_rows(plan, table, strings, 0, profiles)
    assert rows is not None
    rows.store.set_since(indices(state["rows"], positions + 1, "the template rows", rows.store.since.shape))
    return rows
