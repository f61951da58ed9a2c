"""The estimate that a caller means: by its notification, by columns of it, or by its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from foretell.arguments.validation import bad_argument
from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.events.types import Scalar
from foretell.records import record

#: The columns that identify an estimate. With FOR EACH several have the same id.
_COLUMNS = ("subscription", "key", "id", "events")


#: An estimate as a caller names it: its notification, a dict with columns of it, or its id.
EstimateLike: TypeAlias = Notification | Mapping[str, object] | Scalar


@record
class EstimateName:
    """`columns` are those that the caller has given."""

    columns: Mapping[str, object]

    def __str__(self) -> str:
        return str(self.columns["id"])

    def means(self, estimate: Notification) -> bool:
        """Whether it is this estimate. An id in a text may be a number."""
        if str(estimate.id) != str(self):
            return False
        return all(getattr(estimate, name) == value for name, value in self.columns.items() if name != "id")


def as_estimate(value: object) -> EstimateName:
    """The estimate that is named; an `EstimateLike`, unless the caller is mistaken."""
    if isinstance(value, Notification):
        value = {name: getattr(value, name) for name in _COLUMNS}
    elif isinstance(value, bool | int | float | str):
        value = {"id": value}
    if not isinstance(value, Mapping) or value.get("id") is None:
        raise bad_argument("estimate", "a notification, a dict with its columns, or an id", value)
    return EstimateName({name: value[name] for name in _COLUMNS if name in value})


def no_estimate(name: EstimateName) -> InputError:
    hint = "an estimate can be confirmed once, unless it was withdrawn, until two windows after its end"
    return InputError("unknown-estimate", f"there is no estimate '{name}' to confirm", hint=hint)


def several_estimates(name: EstimateName, count: int) -> InputError:
    hint = "pass the notification, or a dict with its columns subscription, key, id and events"
    return InputError("unclear-estimate", f"{count} estimates have the id '{name}'", hint=hint)
