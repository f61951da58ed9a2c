"""The costs of statements on a sample of events: each runs alone in the embedded engine, in parts of the sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from foretell.check.costs.figures import ConditionFigures, StatementFigures
from foretell.check.deadline import Deadline
from foretell.check.program_parts import part_for
from foretell.engine.planning import start_runtime
from foretell.errors import ForetellError
from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.printer import expression_text
from foretell.machine.exec.limits import Limits
from foretell.machine.input.time_slices import TimeSlices, events_in
from foretell.machine.occupancy import Occupancy, occupancy_of
from foretell.machine.runtime import MatchRuntime
from foretell.plan.condition_scope import has_parameter, is_static

#: A sample runs in so many parts: between them it is seen how many partial matches there are.
_PARTS = 100

#: A statement that takes more than this on a sample is stopped: that is the answer.
_LIMITS = Limits(lane=200_000, engine=1_000_000, memory="1 GiB", results="1 GiB")

#: So many matches are enough.
_MOST_MATCHES = 5_000_000

Batches = Mapping[str, EventBatch]


def sample_costs(
    checked: CheckedProgram, batches: Batches, tables: Mapping[str, TemplateTable], deadline: Deadline, seconds: float
) -> Iterator[StatementFigures]:
    """The figures of each statement, as far as time reaches; `seconds` bounds each statement."""
    for statement in checked.statements:
        if deadline.is_over:
            return
        yield _measured(statement, checked, batches, tables, lambda: deadline.part(seconds))


def _measured(
    statement: CheckedStatement,
    checked: CheckedProgram,
    batches: Batches,
    tables: Mapping[str, TemplateTable],
    begin: Callable[[], Deadline],
) -> StatementFigures:
    part = part_for(checked, statement.name)
    read = {str(name) for own in part.statements for name in own.tree.streams}
    sample = {name: batch for name, batch in batches.items() if name in read}
    needed = {
        str(own.tree.table) for own in part.statements if isinstance(own.tree, tree.Subscription) and own.tree.table
    }
    stopped, events, matches, most = "", 0, 0, Occupancy()
    deadline: Deadline | None = None
    try:
        runtime = start_runtime(part, {name: tables[name] for name in needed}, _LIMITS)
        slices = TimeSlices(sample, _attributes(part))
        size = max(1, slices.count // _PARTS)
        while slices.remaining and not stopped:
            piece = slices.take(size)
            events += events_in(piece)
            matches += _matches(runtime, piece, statement.name)
            most = most.most(occupancy_of(runtime))
            deadline = deadline or begin()  # kernels may be compiled for the first events
            stopped = _stop(runtime, matches, deadline)
        lanes = runtime.lane_counts.get(statement.name, 1)
    except ForetellError as error:
        return StatementFigures(
            statement=statement.name,
            events=events,
            lanes=0,
            matches=matches,
            partial=most.partial,
            in_lane=most.in_lane,
            memory=most.memory,
            stopped=error.message,
        )
    return StatementFigures(
        statement=statement.name,
        events=events,
        lanes=lanes,
        matches=matches,
        partial=most.partial,
        in_lane=most.in_lane,
        memory=most.memory,
        conditions=tuple(_selectivities(statement, checked, sample)),
        stopped=stopped and f"{stopped}, after {events:,} of {slices.count:,} events",
    )


def _matches(runtime: MatchRuntime, batches: Batches, name: str) -> int:
    return sum(len(result) for result in runtime.process(batches) if result.schema.name == name)


def _stop(runtime: MatchRuntime, matches: int, deadline: Deadline) -> str:
    warnings = runtime.ledger.take_warnings()
    if warnings:
        return warnings[0].partition("; ")[0]
    if matches > _MOST_MATCHES:
        return f"over {_MOST_MATCHES:,} matches"
    return "the time is over" if deadline.is_over else ""


def _attributes(part: CheckedProgram) -> dict[str, set[str]]:
    """The attributes that statements name, of each stream that they read."""
    named: dict[str, set[str]] = {}
    for statement in part.statements:
        own = {str(node.name) for node in statement.tree.walk() if isinstance(node, tree.Attribute)}
        own |= {str(node.attribute) for node in statement.tree.walk() if isinstance(node, tree.Aggregate)}
        for stream in statement.tree.streams:
            named.setdefault(str(stream), set()).update(own, map(str, statement.tree.per))
    return named


# ── selectivity ──


def _selectivities(
    statement: CheckedStatement, checked: CheckedProgram, batches: Batches
) -> Iterator[ConditionFigures]:
    """The selectivity of each condition on single events: the matches of a pattern that is one step with it. Streams of
    other statements have no events of their own in a sample."""
    if not all(str(stream) in batches for stream in statement.tree.streams):
        return
    conditions = [
        (step, part)
        for step, all_conditions in _conditions(statement)
        for condition in all_conditions
        for part in tree.conjuncts(condition)
        if is_static(part) and not has_parameter(part)
    ]
    distinct = list(dict.fromkeys(part for _, part in conditions))
    if not distinct:
        return
    probes = [
        tree.Subscription(
            tree.Name(f"c{number}"),
            statement.tree.streams,
            tree.Step(tree.Name("e")),
            definitions=(tree.Definition((tree.Name("e"),), part),),
        )
        for number, part in enumerate(distinct)
    ]
    schemas = {str(name): checked.streams[str(name)] for name in statement.tree.streams}
    runtime = start_runtime(replace(check(tree.Program(tuple(probes)), schemas), derived={}))
    counts = dict.fromkeys(range(len(distinct)), 0)
    for result in runtime.process(batches):
        counts[int(result.schema.name[1:])] += len(result)
    events = events_in(batches)
    for step, part in conditions:
        yield ConditionFigures(step, expression_text(part), counts[distinct.index(part)] / max(1, events))


def _conditions(statement: CheckedStatement) -> Iterator[tuple[str, tuple[tree.Expression, ...]]]:
    if isinstance(statement, CheckedSubscription):
        yield from ((name, step.conditions) for name, step in statement.steps.items())
        operators = (node for node in statement.pattern.walk() if isinstance(node, tree.FirstWhere))
        yield from ((";{θ}", (operator.condition,)) for operator in operators)
    else:
        yield from statement.conditions.items()
