"""The estimates of a runtime that were reported, and the late events that confirm or withdraw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.reorder_buffer import LateEvents
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.revisions import LateInput
from foretell.machine.input_group import InputGroup
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ReportedEstimate
from foretell.machine.runtime import MatchRuntime


def revised_by_late(
    runtime: MatchRuntime, late: Iterable[LateEvents], tables: Mapping[str, TemplateTable]
) -> list[ResultBatch]:
    """The estimates that late events confirm or withdraw; they have no other effect."""
    return [
        result
        for events in late
        if len(events)
        for group in runtime.groups.values()
        if group.stages and events.stream in group.plan.input.streams
        for result in _revised(group, _late_input(runtime, group, events, tables))
    ]


def reported_estimates(runtime: MatchRuntime, now: int | float) -> Iterator[ReportedEstimate]:
    """The estimates that may be confirmed or withdrawn at a time."""
    for group in runtime.groups.values():
        for stage in group.stages.values():
            yield from stage.reported(group.stream, now)


def _revised(group: InputGroup, late: LateInput) -> list[ResultBatch]:
    return [result for stage in group.stages.values() for result in stage.late(late, group.stream)]


def _late_input(
    runtime: MatchRuntime, group: InputGroup, late: LateEvents, tables: Mapping[str, TemplateTable]
) -> LateInput:
    batch = EventBatch(late.stream, late.schema, late.table, (), len(late))
    order = EventOrder(runtime.plan.ranks)
    (events,) = order.inputs({late.stream: batch}, runtime.strings, {late.stream: group.stream.needed}).values()
    return LateInput(group.stream.typed(events), late.time, tables)
