"""Random templates: statements FOR EACH row of a table, whose conditions name parameters wherever they may.

Rows have few values: some are equal, some agree on a part of the pattern, and some leave conditions out by NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.properties.patterns import COLUMNS, SIGNS, Case, Chance, Focus, Maker, Step, random_rows

Row = dict[str, Any]

PEOPLE_COLUMNS = ("lo", "hi", "name", "top", "kind")

#: The first row says the types of the columns.
FIRST: Row = {"id": -1, "lo": 1, "hi": 1.5, "name": "p", "top": 2, "kind": "a"}


class TemplateMaker(Maker):
    """Draws one template. With `together` it has what rows may share: no choice among matches, no a[i]."""

    def __init__(self, chance: Chance, events: int, *, together: bool = True) -> None:
        forms = Focus(numbered=0, chosen=0, edge=4) if together else Focus()
        super().__init__(chance, "INT", events, True, forms)
        self.together = together

    def parametrised(self) -> str:
        """A condition on one event with parameters."""
        sign, compared = self.pick(*SIGNS), self.pick("v", "w", "v + 1", "length(n)")
        return self.pick(
            "v = :lo",
            "kind = :kind",
            "g = :name",
            f"{compared} {sign} :{self.pick('lo', 'hi', 'top')}",
            f":{self.pick('lo', 'hi', 'top')} {sign} {compared}",
            f"(:lo IS NULL OR v {sign} :lo)",
            "(:kind IS NULL OR kind = :kind)",
            "(:lo IS NULL OR v BETWEEN :lo AND :top)",
            "(v BETWEEN :lo AND :top OR :hi IS NULL)",
            "(:lo IS NULL OR :hi IS NULL OR w > :hi)",
            "v BETWEEN :lo AND :top",
            "n LIKE :name",
            "v + :lo < w + 1",
            "(v = :lo OR w > :hi)",
            "coalesce(:top, 1) >= v",
            "v IN (:lo, :top)",
            "contains(n, :name)",
            f"n {sign} :name",
            "g <> :name",
            "v % 2 = :lo % 2",
            ":hi IS NULL",
        )

    def relative(self, others: Sequence[str]) -> str:
        """A condition with parameters on an event and another one."""
        event, sign = self.pick(*others, "prev"), self.pick(*SIGNS)
        return self.pick(
            f"v {sign} {event}.v + :lo",
            f"w {sign} {event}.w * :hi",
            f"(:lo IS NULL OR v - {event}.v {sign} :lo)",
            f"n = :name OR v {sign} {event}.v",
            f"duration <= :{self.pick('lo', 'top')}",
            f"v {sign} {event}.v AND :hi > 1",
        )

    def definition(self, step: Step) -> str:
        plain = super().definition(step) if self.maybe(40) else self.kind() if self.maybe(40) else ""
        parts = [f"({plain})" if " OR " in plain else plain] if plain else []
        parts += [self.parametrised() for _ in range(self.pick(0, 1, 1, 1, 2) if not plain else self.pick(0, 1))]
        earlier = [n for n in list(self.steps)[: list(self.steps).index(step.name)] if not self.steps[n].negated]
        if earlier and self.maybe(25):
            parts.append(f"({self.relative(earlier)})")
        return " AND ".join(parts)

    def where(self) -> str:
        if self.maybe(35):
            return self.parametrised()
        return (
            f"{self.kind()} AND ({self.relative(self.before[-2:])})"
            if self.before and self.maybe(20)
            else super().where()
        )

    def policy(self, steps: Sequence[Step]) -> str:
        return "HOLD" if self.together else super().policy(steps)

    def finally_(self, positive: Sequence[str]) -> str:
        if self.maybe(50):
            return self.pick("duration <= :lo + 1", f"{self.pick(*positive)}.v >= :lo", ":hi > 1", ":name = 'p'")
        return super().finally_(positive)

    def returned(self, positive: Sequence[str], *, used: bool) -> str:
        columns = super().returned(positive, used=used)
        if self.maybe(50):
            columns += f", {self.pick(':name', ':lo + 1', ':hi', f'{self.pick(*positive)}.w * :hi', ':id')} AS own"
        return columns


def people(chance: Chance, count: int, first: int = 0) -> list[Row]:
    """Rows of a table."""
    return [
        {
            "id": number,
            "lo": chance.pick(0, 1, 2, None),
            "hi": chance.pick(0.5, 1.5, -0.0, None),
            "name": chance.pick("p", "q", "a%", None),
            "top": chance.pick(1, 2, 3, None),
            "kind": chance.pick("a", "b", None),
        }
        for number in range(first, first + count)
    ]


def template_case(chance: Chance, *, together: bool = True, single: bool = False) -> Case:
    """A template with its table and its events."""
    events = chance.number(8, 12)
    maker = TemplateMaker(chance, events, together=together)
    if single:
        step = Step("a")
        maker.steps = {"a": step}
        conditions = " AND ".join(maker.parametrised() for _ in range(chance.number(1, 4)))
        conditions += chance.pick("", "", f" AND {maker.kind()}")
        text = f"SUBSCRIBE m FOR EACH people FROM s{chance.pick('', '', ' PER g')}\nMATCH a DEFINE a AS {conditions}"
        text += f"\nHAVING {maker.finally_(['a'])}" if chance.maybe(20) else ""
        text += f"\nRETURN {maker.returned(['a'], used=False)};" if chance.maybe(40) else ";"
    else:
        text = maker.statement("m", ["s"], used=False)
    ties = " TIES SIMULTANEOUS" if chance.maybe(12) else ""
    declaration = f"STREAM s (time INT, {COLUMNS}) TIME time{ties};"
    rows = random_rows(chance, events, "INT", order=False, named=False)
    table = [FIRST, *people(chance, chance.number(3, 10))]
    until = chance.pick(None, None, 40)
    return Case(f"{declaration}\n{text}", {"s": rows}, {"people": table}, until)
