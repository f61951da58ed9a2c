"""Result stages: the results of hidden statements become those of a statement that runs as several patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from foretell.machine.matches.results import ResultBatch


class ResultStage(Protocol):
    """`patterns` are the names of the statements that run; the first one is that of the statement itself."""

    @property
    def subscription(self) -> Any:
        """The statement as the user has written it: a CheckedSubscription, of which the machine knows nothing."""

    @property
    def patterns(self) -> Sequence[str]: ...

    @property
    def nbytes(self) -> int: ...

    def process(self, results: Sequence[ResultBatch], now: int | float, /) -> list[ResultBatch]:
        """The results of the statement, from those of its patterns in a batch."""

    def learned(self) -> Mapping[str, object]:
        """The parts of a model file that the run has learned."""

    def take_notes(self) -> Sequence[str]:
        """Notes for the user since the last call."""

    def state(self) -> Mapping[str, Any]: ...

    def restore(self, state: Mapping[str, Any], positions: int, /) -> None:
        """Continue from a snapshot whose stream has so many events."""
