"""Compile plans and start runtimes: the runtime codes the constants, its observers choose what to observe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.machine.exec.limits import Limits
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.machine.recorded_groups import records, strings_of
from foretell.machine.result_stage import ResultStage
from foretell.machine.runtime import MatchRuntime
from foretell.plan.compile import PlanCompiler

if TYPE_CHECKING:
    from foretell.recover.gap_counter import GapCountStage

Tables = Mapping[str, TemplateTable]

#: The delays between the steps of a statement with LOSING, by its name.
Delays = Callable[[str], DelayModel]


def no_delays(name: str) -> DelayModel:
    return DelayModel()


def delays_of(models: Mapping[str, DelayModel]) -> Delays:
    return lambda name: models.get(name) or DelayModel()


def start_runtime(
    program: CheckedProgram,
    tables: Tables | None = None,
    limits: Limits | None = None,
    observers: ObserverFactory = NO_OBSERVERS,
    delays: Delays = no_delays,
    *,
    live: bool = False,
) -> MatchRuntime:
    """Compile the plan of a program, and a runtime for it, in which estimates may be confirmed where it is `live`."""
    statements, stages = _with_hidden(program.statements, delays, limits, tables=tables, live=live)
    return _started(replace(program, statements=statements), tables, limits, observers, stages)


def start_counting(
    program: CheckedProgram, tables: Tables | None = None, limits: Limits | None = None, *, complete: bool
) -> tuple[MatchRuntime, list[GapCountStage]]:
    """A runtime that counts the gaps of statements with LOSING, for training, and the stages that have the counts."""
    from foretell.recover.gap_counter import counting  # loads SciPy, which takes a while

    statements, stages = counting(program.statements, complete=complete)
    statements, tokens = _with_hidden(statements, no_delays, limits, tables=tables, live=False)
    by_pattern = tokens | {stage.patterns[0]: stage for stage in stages if stage.patterns}
    return _started(replace(program, statements=statements), tables, limits, NO_OBSERVERS, by_pattern), stages


def _started(
    program: CheckedProgram,
    tables: Tables | None,
    limits: Limits | None,
    observers: ObserverFactory,
    stages: Mapping[str, ResultStage],
) -> MatchRuntime:
    strings = StringDictionary()
    compiler = PlanCompiler(strings.constant, observers, (limits or Limits()).edges)
    plan = compiler.compile(program, _types(tables or {}))
    runtime = MatchRuntime(plan, strings, tables, limits, observers, stages)
    for group in runtime.groups.values():  # of statements that come later, the next batch does it
        group.adopt_plans()
    return runtime


def extend_runtime(
    runtime: MatchRuntime, statement: CheckedStatement, tables: Tables, delays: Delays = no_delays
) -> None:
    """Compile one more statement, and run it from the next event on."""
    compiler = PlanCompiler(runtime.strings.constant, runtime.observers, runtime.ledger.limits.edges)
    others = [other.name for other in runtime.plan.statements]
    limits = runtime.ledger.limits
    statements, stages = _with_hidden([statement], delays, limits, others=others, tables=tables, live=True)
    plan = compiler.extend(runtime.plan, statements, _types(tables))
    runtime.extend(plan, [s.name for s in statements], tables, stages)


def restore_runtime(
    state: Mapping[str, Any],
    program: CheckedProgram,
    tables: Tables,
    recheck: Callable[[str], CheckedSubscription],
    limits: Limits | None = None,
    observers: ObserverFactory = NO_OBSERVERS,
    delays: Delays = no_delays,
) -> MatchRuntime:
    """The runtime that a snapshot describes, with the plan that the snapshot records."""
    strings = strings_of(state)
    compiler = PlanCompiler(strings.constant, observers, (limits or Limits()).edges)
    recorded = {name: stage for group in state["fed"] for name, stage in group.get("stages", {}).items()}
    statements, stages = _with_hidden(program.statements, delays, limits, recorded, tables=tables, live=True)
    plan = compiler.restore(replace(program, statements=statements), records(state), recheck, _types(tables))
    return MatchRuntime.restore(state, plan, strings, tables, limits, observers, stages)


def _with_hidden(
    statements: Iterable[CheckedStatement],
    delays: Delays,
    limits: Limits | None,
    recorded: Mapping[str, Any] | None = None,
    others: Iterable[str] = (),
    *,
    tables: Tables | None,
    live: bool,
) -> tuple[tuple[CheckedStatement, ...], dict[str, ResultStage]]:
    """The statements with their hidden patterns in place of those with LOSING, and the stages that these have.
    `others` are the names of statements that run already."""
    statements = tuple(statements)
    stages: dict[str, ResultStage] = {}
    if any(isinstance(s, CheckedSubscription) and s.tree.losing is not None for s in statements):
        from foretell.recover.expansion import expanded  # loads SciPy, which takes a while

        names = {*others, *(statement.name for statement in statements)}
        most = (limits or Limits()).losing
        statements, stages = expanded(statements, delays, recorded or {}, names, most, live=live)
    if any(isinstance(s, CheckedCorrelator) for s in statements):
        from foretell.correlate.hidden_statements import with_tokens  # loads kernels that few need

        statements, tokens = with_tokens(statements, tables or {})
        stages |= tokens
    return statements, stages


def _types(tables: Tables) -> dict[str, Mapping[str, Type]]:
    return {name: table.types for name, table in tables.items()}
