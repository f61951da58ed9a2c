"""FOR EACH tables as the reference evaluator takes them."""

from __future__ import annotations

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.reference.expressions import moment
from foretell.reference.functions import Value


def table_rows(table: TemplateTable) -> list[dict[str, Value]]:
    """The rows of a table, timestamps as datetimes."""
    times = {name for name, kind in table.types.items() if kind is Type.TIMESTAMP}
    return [
        {name: moment(int(v)) if v is not None and name in times else v for name, v in row.items()}
        for row in table.rows
    ]
