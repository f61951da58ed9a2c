"""Notifications that were written while they were found: their number is known, and where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, runtime_checkable

from foretell.errors import InputError
from foretell.events.notification import Notification
from foretell.language.checked import CheckedStatement
from foretell.records import record

if TYPE_CHECKING:
    from foretell.machine.matches.results import ResultBatch


class NotificationOutput(Protocol):
    """Takes notifications in their order, part after part."""

    def write(self, part: Sequence[Notification]) -> None: ...


@runtime_checkable
class DescribedOutput(NotificationOutput, Protocol):
    """Is told before the first notification which statements they are of."""

    def describe(self, statements: Iterable[CheckedStatement]) -> None: ...


@runtime_checkable
class ResultOutput(NotificationOutput, Protocol):
    """Takes results too, and need not make notifications of all."""

    def write_results(self, results: Sequence[ResultBatch]) -> None: ...


@record
class WrittenNotifications(Sequence[Notification]):
    """The number of notifications by subscription and kind. The notifications are in `place` and not here."""

    by_kind: Mapping[tuple[str, str], int]
    place: str

    def __len__(self) -> int:
        return sum(self.by_kind.values())

    def __getitem__(self, index: object) -> NoReturn:
        raise InputError(
            "written", f"the notifications are in {self.place}", hint="read them there, or run without output="
        )

    def __iter__(self) -> Iterator[Notification]:
        return self[0]

    def counts(self) -> dict[tuple[str, str], int]:
        return dict(self.by_kind)

    def of(self, subscriptions: Sequence[str]) -> WrittenNotifications:
        return WrittenNotifications(
            {n: count for n, count in self.by_kind.items() if n[0] in subscriptions}, self.place
        )
