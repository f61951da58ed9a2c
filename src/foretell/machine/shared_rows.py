"""Equal rows of a template that run row by row: one executor serves them, and each row gets its results.

Only rows that were added together share an executor: one that comes later must not see what began before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.matches.results import ResultBatch
from foretell.machine.nfa_group import NfaGroup
from foretell.plan.match_plan import StatementPlan
from foretell.storage.recorded_values import require

Row = Mapping[str, Scalar]


def equal_rows(statement: StatementPlan, table: TemplateTable) -> Iterator[tuple[Row, list[Scalar]]]:
    """The rows that one executor may serve: the first of them, and the ids of all."""
    ids = table.scalars("id") if len(table) else []
    if statement.shares_rows:
        for numbers in _equal(table):
            yield table.row(numbers[0]), [ids[number] for number in numbers]
    else:
        yield from ((table.row(number), [row_id]) for number, row_id in enumerate(ids))


def _equal(table: TemplateTable) -> Iterable[list[int]]:
    """The numbers of rows with equal values, of which 0.0 and -0.0 are not equal."""
    columns = [table.scalars(name) for name in table.types if name != "id"]
    exact = [[v.hex() if isinstance(v, float) else v for v in values] for values in columns]
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, values in enumerate(zip(*exact, strict=True) if exact else repeat((), len(table))):
        groups.setdefault(values, []).append(number)
    return groups.values()


@dataclass
class RowSharing:
    """The ids of the rows that executors serve, of those that serve several or have done so."""

    _ids: dict[AbsenceExecutor | NfaGroup, list[Scalar]] = field(default_factory=dict)

    def enter(self, executor: AbsenceExecutor | NfaGroup, ids: Sequence[Scalar]) -> None:
        self._ids[executor] = list(ids)

    def remove(self, executor: AbsenceExecutor | NfaGroup, row_id: Scalar) -> bool:
        """Removes a row. Returns whether its executor serves no other; else it is named after one of those."""
        ids = [each for each in self._ids.pop(executor, ()) if each != row_id]
        if not ids:
            return True
        self._ids[executor] = ids
        executor.name_after(ids[0])
        return False

    def forget(self, executor: AbsenceExecutor | NfaGroup) -> None:
        self._ids.pop(executor, None)

    def results(self, executor: AbsenceExecutor | NfaGroup, results: Iterable[ResultBatch]) -> Iterator[ResultBatch]:
        """The results of an executor, once for each of its rows."""
        ids = self._ids.get(executor)
        for result in results:
            yield from [result] if ids is None else (replace(result, id=row_id) for row_id in ids)

    def waiting(self, groups: Iterable[NfaGroup]) -> Counter[str]:
        """The number of partial and undecided matches of each statement that only need time to pass, for each row."""
        counts: Counter[str] = Counter()
        for group in groups:
            rows = len(self._ids.get(group, (None,)))
            counts.update({name: rows * count for name, count in group.waiting.items()})
        return counts

    # ── snapshots ──

    def state(self, executors: Mapping[str, Mapping[Scalar, AbsenceExecutor | NfaGroup]]) -> dict[str, Any]:
        """Of each statement the ids of the rows that are one executor."""
        found: dict[str, list[list[Scalar]]] = {}
        for name, own in executors.items():
            shared = [self._ids[executor] for executor in dict.fromkeys(own.values()) if executor in self._ids]
            if shared:
                found[name] = shared
        return found

    def restore(
        self,
        state: Mapping[str, Sequence[Sequence[Scalar]]],
        executors: Mapping[str, dict[Scalar, AbsenceExecutor | NfaGroup]],
    ) -> None:
        """Continues from a snapshot, in which each executor is named after its first row."""
        for name, shared in state.items():
            require(name in executors, "the groups of statements")
            for first, *others in shared:
                require(first in executors[name], "the groups of statements")
                executor = executors[name][first]
                for row_id in others:
                    require(row_id not in executors[name], "the groups of statements")
                    executors[name][row_id] = executor
                self.enter(executor, [first, *others])
