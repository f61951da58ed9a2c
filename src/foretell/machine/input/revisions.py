"""Estimates that were reported and are revised: by late events, or by somebody who knows the truth."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.events.ingest.template_tables import TemplateTable
from foretell.machine.input.event_order import OrderedInput
from foretell.records import record


@record
class LateInput:
    """The late events of a stream in the order in which they came, the time that had been reached by then, and the
    FOR EACH tables as they were. The events have no place among those of the stream."""

    events: OrderedInput
    time: int | float
    tables: Mapping[str, TemplateTable]
