"""The memory budget of a runtime: room for events, and what happens where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from foretell.errors import InputError
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.limits import RunLedger
from foretell.machine.input_group import InputGroup
from foretell.plan.match_plan import InputPlan
from foretell.records import record


@record
class RuntimeMemory:
    groups: Mapping[InputPlan, InputGroup]
    strings: StringDictionary
    ledger: RunLedger

    def has_room(self, more: int) -> bool:
        """Whether the budget has room for so many bytes."""
        self.ledger.bytes[id(self.strings)] = self.strings.nbytes
        return more <= self.ledger.remaining_bytes

    def require_room(self, more: int) -> None:
        """Makes room in the budget for so many bytes: frees what nothing needs, then stops or drops partial matches
        of the groups with the most events. Raises InputError where that is not enough; nothing else has changed then.
        """
        ledger = self.ledger
        if self.has_room(more):
            return
        for group in self.groups.values():
            group.compact()
        while more > ledger.remaining_bytes:
            fullest = sorted(self.groups.values(), key=lambda group: -group.stream.buffer.nbytes)
            if not any(group.relieve() for group in fullest):
                raise self._no_room()

    def stay_within_budget(self) -> None:
        """Stops or drops partial matches where a slice of a batch has filled the budget."""
        if self.ledger.remaining_bytes >= 0:
            return
        for group in self.groups.values():
            group.compact()
        while self.ledger.remaining_bytes < 0:
            if not any(group.relieve() for group in self.groups.values()):
                return

    def _no_room(self) -> InputError:
        stores: Counter[str] = Counter(strings=self.strings.nbytes)
        for group in self.groups.values():
            stores.update(group.stores)
        return self.ledger.no_room(stores)
