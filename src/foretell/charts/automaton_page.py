"""The page of automata: a drawing of each statement, with learned probabilities where there is a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from foretell.arguments.limits import as_limits
from foretell.arguments.model import ModelLike, as_model, delay_models
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.streams import read_tables
from foretell.arguments.validation import as_tables
from foretell.charts.automaton import AutomatonChart
from foretell.charts.automaton_sources import correlator_chart, losing_chart, subscription_chart
from foretell.charts.learned_automaton import LearnedAutomaton, learned_automaton
from foretell.charts.page import ChartPage, Section
from foretell.correlate.explanation import ExplainedCorrelator, explain_correlator
from foretell.errors import InputError
from foretell.events.delays.delay_model import DelayModel
from foretell.events.types import Type
from foretell.forecast.online.factory import fingerprint_of
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.printer import statement_text
from foretell.language.token_forecasts import forecasting_statements
from foretell.learn.model import Model, SubscriptionModel
from foretell.machine.exec.limits import Limits
from foretell.plan.explain import Explained, as_mermaid, as_text, explain_all
from foretell.records import record
from foretell.recover.loss_automaton import LossAutomaton, automaton_mermaid, automaton_text, loss_automaton

_TITLE = "How statements match"

_LEGEND = (
    "Events lead from left to right. A box is a state: partial matches wait there, under the operator that it names; "
    "an event of a step in red ends them. An arrow binds an event to the step in bold, if its condition holds. The "
    "rings are a match. A dashed arrow leads back. Rest the pointer on a box or a label for its full text."
)

_LOSING_CAPTION = (
    "Boxes are events that are present. An arrow may pass over steps whose events were lost, with the best probability "
    "that a model gives to its gap; a dotted one is never taken."
)

_MACHINE_CAPTION = (
    "The correlation machine: rounded boxes are states, of which several are active at once; square ones are "
    "transitions, with the step that they read and the token that they emit."
)

_NO_TOKEN_PROBABILITIES = (
    " It has no learned probabilities: forecasts of tokens know the states of a deterministic machine, which the plan "
    "in words lists."
)


def automaton_page(
    subscriptions: SubscriptionsLike,
    path: str | os.PathLike[str] | None = None,
    *,
    model: ModelLike | None = None,
    tables: Mapping[str, object] | None = None,
    limits: Limits | None = None,
) -> ChartPage:
    """The automata of statements, drawn on a page that opens without a network. Streams must be declared.

    `model` has the probabilities of the edges of statements with FORECAST, and the delays of those with LOSING.
    `tables` has FOR EACH tables, whose types the states may depend on. With a `path` the page is written there, too.

    >>> statement = "SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a';"
    >>> page = automaton_page(f"STREAM s (k STRING, t INT) TIME t; {statement}")
    >>> page
    ChartPage(How statements match: 1 chart: m)
    >>> [record["text"].splitlines() for record in page["m"].records() if record["what"] == "edges"]
    [['a', "k = 'a'"], ['b']]
    """
    program, trained = as_subscriptions(subscriptions), as_model(model)
    loaded = read_tables(program.tables, as_tables(tables)) if tables else {}
    types = {name: table.types for name, table in loaded.items()}
    checked = program.checked(tables=types)
    require_declared(checked)
    # Raises InputError for a model that was trained for other statements.
    trees = {str(s.name): fingerprint_of(s) for s in forecasting_statements(program.program)}
    fits, notes = trained.compatible(trees) if trees else ({}, [])
    automata = _Automata(checked, trained, fits, types, as_limits(limits))
    found = ChartPage(_TITLE, _LEGEND, tuple(automata.sections()), warnings=tuple(notes))
    if path is not None:
        found.save(path)
    return found


def require_declared(checked: CheckedProgram) -> None:
    """Raises InputError for a stream whose attributes are not known: the plan depends on them."""
    for name, schema in checked.streams.items():
        if schema.open:
            raise InputError(
                "undeclared-stream",
                f"stream '{name}' is not declared: the plan depends on its attributes",
                hint=f"declare it: STREAM {name} (attribute TYPE, ...) TIME column",
            )


@record
class _Automata:
    """The statements of a program with all that their drawings depend on."""

    checked: CheckedProgram
    model: Model
    trained: Mapping[str, SubscriptionModel]
    types: Mapping[str, Mapping[str, Type]]
    limits: Limits

    def sections(self) -> Iterator[Section]:
        subscriptions = [s for s in self.checked.statements if isinstance(s, CheckedSubscription)]
        plans = {plan.name: plan for plan in explain_all(subscriptions, self.types, self.limits.edges)}
        learned = self._learned(subscriptions)
        losing = self._losing(subscriptions)
        for number, statement in enumerate(self.checked.statements):
            slug = _slug(statement.name, number)
            if isinstance(statement, CheckedCorrelator):
                yield self._of_correlator(slug, statement)
            elif statement.name in losing:
                yield self._of_losing(slug, statement, plans[statement.name], losing[statement.name])
            else:
                yield self._of_subscription(slug, statement, plans[statement.name], learned.get(statement.name))

    def _learned(self, subscriptions: list[CheckedSubscription]) -> dict[str, LearnedAutomaton]:
        """The probabilities of the statements that the model was trained for, but for those whose states are not known
        without a table."""
        return {
            s.name: learned_automaton(s, self.trained[s.name], self.types.get(str(s.tree.table)))
            for s in subscriptions
            if s.name in self.trained and (s.tree.table is None or s.tree.table in self.types)
        }

    def _losing(self, subscriptions: list[CheckedSubscription]) -> dict[str, LossAutomaton]:
        names = [s.name for s in subscriptions if s.tree.losing is not None]
        delays = delay_models(self.model, names) if self.model.delays else None
        return {
            s.name: loss_automaton(
                _with_moments(s),
                None if delays is None else delays.get(s.name) or DelayModel(),
                self.limits.losing,
            )
            for s in subscriptions
            if s.name in names
        }

    def _of_subscription(
        self, slug: str, statement: CheckedSubscription, plan: Explained, learned: LearnedAutomaton | None
    ) -> Section:
        chart = subscription_chart(slug, statement, plan, learned)
        drawn = (chart,) if chart.is_readable and (plan.states or _is_clock(statement)) else ()
        caption = [f"It runs as {plan.strategy}: {plan.why}.", chart.caption]
        if plan.finally_judged:
            caption.append(f"On the finished match: {', '.join(plan.finally_judged)}.")
        if not drawn:
            caption.append(_why_not_drawn(chart) if plan.states else "Its states are not known without its table.")
        return _section(slug, statement, " ".join(filter(None, caption)), drawn, (as_text(plan), as_mermaid(plan)))

    def _of_losing(self, slug: str, statement: CheckedSubscription, plan: Explained, found: LossAutomaton) -> Section:
        chart = losing_chart(slug, statement, found)
        caption = _LOSING_CAPTION if chart.is_readable else _why_not_drawn(chart)
        texts = f"{as_text(plan)}\n{automaton_text(found)}", automaton_mermaid(found)
        return _section(slug, statement, caption, (chart,) if chart.is_readable else (), texts)

    def _of_correlator(self, slug: str, statement: CheckedCorrelator) -> Section:
        explained: ExplainedCorrelator = explain_correlator(statement, self.types.get(str(statement.tree.table)))
        chart = correlator_chart(slug, explained)
        caption = _MACHINE_CAPTION if chart.is_readable else _why_not_drawn(chart)
        if statement.name in self.trained:
            caption += _NO_TOKEN_PROBABILITIES
        texts = explained.as_text(), explained.as_mermaid()
        return _section(slug, statement, caption, (chart,) if chart.is_readable else (), texts)


def _section(
    slug: str,
    statement: CheckedStatement,
    caption: str,
    charts: tuple[AutomatonChart, ...],
    texts: tuple[str, str],
) -> Section:
    in_words, mermaid = texts
    details = (
        ("The statement", statement_text(statement.tree)),
        ("The plan in words", in_words),
        ("The drawing as mermaid", mermaid),
    )
    return Section(f"{slug}-section", statement.name, caption, charts, details)


def _why_not_drawn(chart: AutomatonChart) -> str:
    return f"Its {len(chart.states):,} states and {len(chart.edges):,} edges cannot be read as a drawing."


def _is_clock(statement: CheckedSubscription) -> bool:
    return isinstance(statement.pattern, tree.Silence)


def _with_moments(statement: CheckedSubscription) -> CheckedSubscription:
    """A window with a unit is one of TIMESTAMPs, declared or not."""
    return replace(statement, time=Type.TIMESTAMP) if isinstance(statement.tree.within, tree.Span) else statement


def _slug(name: str, number: int) -> str:
    """The name of a drawing on the page: that of its statement where it needs no escape."""
    return name if name.isascii() and name.replace("_", "").isalnum() else f"statement-{number}"
