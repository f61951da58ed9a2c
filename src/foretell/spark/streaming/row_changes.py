"""Changes of the rows of FOR EACH tables, many at once: an engine takes a hundred thousand rows together in the time of
some thousand one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Protocol

import msgspec

from foretell.records import record

#: The actions that change rows.
ADD, REMOVE = "add rows", "remove rows"


class RowChange(Protocol):
    """A change of a control stream, by the columns that are read here."""

    action: str | None
    name: str | None
    rows: str | None


@record
class NetChanges:
    """The rows of a table to remove, and then those to add."""

    removed: list[Any]
    added: list[dict[str, Any]]

    @classmethod
    def of(cls, changes: Sequence[RowChange]) -> NetChanges | None:
        """The sum of changes of one table; None where it depends on their order, or one is malformed. A row that is
        removed may be added again, with other values."""
        removed: dict[Any, None] = {}
        added: dict[Any, dict[str, Any]] = {}
        try:
            for change in changes:
                items = msgspec.json.decode(change.rows or "")
                if not isinstance(items, list):
                    return None
                for item in items:
                    row_id = item["id"] if change.action == ADD else item
                    if row_id in added or (change.action == REMOVE and row_id in removed):
                        return None
                    if change.action == ADD:
                        added[row_id] = item
                    else:
                        removed[row_id] = None
        except (msgspec.DecodeError, RecursionError, TypeError, LookupError):
            return None
        return cls(list(removed), list(added.values()))


def consecutive(changes: Sequence[Any]) -> Iterator[list[Any]]:
    """Changes of the rows of one table that follow one another, together; each other change alone."""
    for (_, table), together in groupby(enumerate(changes), _table_of):
        if table is None:
            yield from ([change] for _, change in together)
        else:
            yield [change for _, change in together]


def _table_of(numbered: tuple[int, RowChange]) -> tuple[int, str | None]:
    number, change = numbered
    changes_rows = change.action in (ADD, REMOVE) and change.name is not None
    return (-1, change.name) if changes_rows else (number, None)
