"""The rows of a template that one executor serves, in the form that the plan of its group has for them."""

from __future__ import annotations

from typing import TypeAlias

from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.profiled_rows import ProfiledRows
from foretell.machine.template_rows import TemplateRows
from foretell.plan.match_plan import NfaGroupPlan

ServedRows: TypeAlias = TemplateRows | ProfiledRows


def served_rows(
    plan: NfaGroupPlan, table: TemplateTable, strings: StringDictionary, since: int
) -> ServedRows | None:
    """The rows of a table from an event on; None where no executor serves all of them."""
    if plan.profiled is not None:
        return ProfiledRows.of(plan.profiled, table, strings, since)
    if plan.selection is not None:
        return TemplateRows.of(plan.selection, table, strings, since)
    return None
