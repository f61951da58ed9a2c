"""Malformed rows: those of which their source could not read something, as its column `malformed` says.

The row's text, which `foretell_mqtt` gives as `payload` and Spark's own readers as `malformed`, shows what: where it is
a JSON object, single values could not be read. They are NULL and counted, as everywhere, and the event stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.connectors.mqtt.payloads import payload_row
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.events.ingest.nested_paths import value_at
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.nulled_values import NulledValues, nulled_value
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.scalar_parsing import MisfitError, convert, display_value
from foretell.events.types import Type

#: Columns in which a source reports rows that it could not read: the reason, or the text; and the payload.
MALFORMED = ("malformed", "payload")


@dataclass(frozen=True)
class SeparatedRows:
    """Rows to read as events, those that are set aside, and the values that are NULL in the former."""

    events: pa.Table
    quarantined: list[QuarantinedEvent]
    nulled: list[NulledValues]


def separated_rows(rows: pa.Table, declaration: StreamDeclaration) -> SeparatedRows:
    """Separate rows that have the declared columns in their order, then those of MALFORMED, as far as they exist."""
    count = len(declaration.columns)
    separated = SeparatedRows(rows.select(list(range(count))).rename_columns(declaration.columns), [], [])
    if rows.num_columns == count:
        return separated
    marked = ~numpy_of(pc.is_null(rows.column(count)))
    for position in np.flatnonzero(marked).tolist():
        texts = [rows.column(n)[position].as_py() for n in range(count, rows.num_columns)]
        row = _MalformedRow(declaration, position + 1, separated.events.slice(position, 1).to_pylist()[0], texts)
        nulled = row.nulled()
        marked[position] = nulled is None
        if nulled is None:
            separated.quarantined.append(row.quarantined())
        else:
            separated.nulled.extend(nulled)
    if not separated.quarantined:
        return separated
    return SeparatedRows(separated.events.filter(arrow_of(~marked)), separated.quarantined, separated.nulled)


@dataclass(frozen=True)
class _MalformedRow:
    """A row with its number, its values, and its texts in the columns of MALFORMED."""

    declaration: StreamDeclaration
    number: int
    values: dict[str, object]
    texts: list[bytes | str]

    @property
    def raw(self) -> bytes | str:
        return self.texts[-1]

    def quarantined(self) -> QuarantinedEvent:
        stream = self.declaration.stream
        # Spark's own readers give the text that they could not read, without a reason.
        reason = str(self.texts[0]) if len(self.texts) > 1 else "not as the stream is declared"
        raw = self.raw if isinstance(self.raw, str) else self.raw.decode("utf-8", "replace")
        return QuarantinedEvent(stream, stream, self.number, reason, raw)

    def nulled(self) -> list[NulledValues] | None:
        """Return the values that could not be read; None where the row has no time, or its text does not show them."""
        record = payload_row(self.raw.encode() if isinstance(self.raw, str) else self.raw)
        if self.values[self.declaration.time] is None or not isinstance(record, dict):
            return None
        absent = [name for name, value in self.values.items() if value is None]
        found = {name: value for name in absent if (value := value_at(record, name)) is not None}
        return list(self._unreadable(found)) if found or not absent else None

    def _unreadable(self, found: dict[str, object]) -> Iterator[NulledValues]:
        stream, markers = self.declaration.stream, NullMarkers.of(self.declaration.read.nulls)
        for name, value in found.items():
            if not markers.has(value):
                reason = _reason(name, value, self.declaration.attributes[name])
                yield nulled_value(stream, name, value, reason, (stream, self.number))


def _reason(name: str, value: object, kind: Type) -> str:
    try:
        convert(value, kind)
    except MisfitError as error:
        return error.reason(name)
    return f"{name}: expected {kind.value}, found {display_value(value)}"  # the source reads fewer spellings than we do
