"""Compile plans and start runtimes: the runtime codes the constants, its observers choose what to observe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.machine.exec.limits import Limits
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.machine.recorded_groups import records, strings_of
from foretell.machine.runtime import MatchRuntime
from foretell.plan.compile import PlanCompiler

Tables = Mapping[str, TemplateTable]


def start_runtime(
    program: CheckedProgram,
    tables: Tables | None = None,
    limits: Limits | None = None,
    observers: ObserverFactory = NO_OBSERVERS,
) -> MatchRuntime:
    """Compile the plan of a program, and a runtime for it. Raises UnsupportedError for what is not compiled."""
    strings = StringDictionary()
    edges = (limits or Limits()).edges
    plan = PlanCompiler(strings.constant, observers, edges).compile(program, _types(tables or {}))
    return MatchRuntime(plan, strings, tables, limits, observers)


def extend_runtime(runtime: MatchRuntime, statement: CheckedStatement, tables: Tables) -> None:
    """Compile one more statement, and run it from the next event on. One that is not compiled changes nothing."""
    compiler = PlanCompiler(runtime.strings.constant, runtime.observers, runtime.ledger.limits.edges)
    runtime.extend(compiler.extend(runtime.plan, [statement], _types(tables)), [statement.name], tables)


def restore_runtime(
    state: Mapping[str, Any],
    program: CheckedProgram,
    tables: Tables,
    recheck: Callable[[str], CheckedSubscription],
    limits: Limits | None = None,
    observers: ObserverFactory = NO_OBSERVERS,
) -> MatchRuntime:
    """The runtime that a snapshot describes, with the plan that the snapshot records."""
    strings = strings_of(state)
    compiler = PlanCompiler(strings.constant, observers, (limits or Limits()).edges)
    plan = compiler.restore(program, records(state), recheck, _types(tables))
    return MatchRuntime.restore(state, plan, strings, tables, limits, observers)


def _types(tables: Tables) -> dict[str, Mapping[str, Type]]:
    return {name: table.types for name, table in tables.items()}
