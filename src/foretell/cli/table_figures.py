"""The figures of the index that finds the rows of a FOR EACH table, for `explain`."""

from __future__ import annotations

from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedSubscription
from foretell.machine.served_rows import served_rows
from foretell.plan.compile import PlanCompiler
from foretell.plan.explain import ForecastsObserved
from foretell.plan.match_plan import MatchPlan, NfaGroupPlan


def table_figures(subscription: CheckedSubscription, table: TemplateTable, edges: int) -> tuple[str, ...]:
    """How events find the rows of a table, at each place of the pattern that asks for them; nothing where each row runs
    by itself. `edges` is `Limits.edges`."""
    strings = StringDictionary()
    compiler = PlanCompiler(strings.constant, ForecastsObserved(), edges)
    plan = compiler.extend(MatchPlan({}, {}), [subscription], {str(subscription.tree.table): table.types})
    group = plan.input_of(subscription.name).group_of(subscription.name)
    rows = served_rows(group, table, strings, 0) if isinstance(group, NfaGroupPlan) else None
    return () if rows is None else rows.figures(strings)
