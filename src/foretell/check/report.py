"""The report of a check: findings, notes, comparisons, dependencies and costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.check.codes import is_note
from foretell.check.comparison import StatementComparison
from foretell.check.costs.figures import StatementFigures
from foretell.check.dependencies import Dependencies
from foretell.check.finding import Finding
from foretell.check.witness import Witness
from foretell.display import View, Viewed, counted, listed
from foretell.errors import NOWHERE
from foretell.language.checked import CheckedProgram


@dataclass(frozen=True, repr=False)
class CheckReport(Viewed):
    """The result of a check of statements.

    | field | |
    | --- | --- |
    | `findings` | reasons to change a statement, in the order of the text |
    | `notes` | what statements cost, where costs are asked for |
    | `undecided` | questions that ran into a limit of the check |
    | `unasked` | the statements for which no time was left |
    | `silenced` | how many findings the text allows |
    | `comparisons` | with `against`: each statement compared with its partner |
    | `dependencies` | which statement reads which streams and attributes |
    | `figures` | with `inputs`: what each statement costs on these events |
    """

    statements: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()
    unasked: tuple[str, ...] = ()
    silenced: int = 0
    comparisons: tuple[StatementComparison, ...] = ()
    dependencies: Dependencies = field(default_factory=Dependencies)
    figures: tuple[StatementFigures, ...] = ()
    text: str = ""
    file: str = ""
    program: CheckedProgram | None = field(default=None, compare=False)
    against: CheckedProgram | None = field(default=None, compare=False)

    @property
    def passes(self) -> bool:
        """Whether there is nothing to change: no findings, and no statement that is not known to be equivalent to its
        partner."""
        return not self.findings and all(c.is_equivalent for c in self.comparisons)

    def of(self, code: str) -> tuple[Finding, ...]:
        """The findings, notes and undecided questions with a code."""
        return tuple(f for f in (*self.findings, *self.notes, *self.undecided) if f.code == code)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        every = (*self.findings, *self.notes, *self.undecided)
        return {
            "file": self.file,
            "statements": list(self.statements),
            "findings": [_finding(finding) for finding in every],
            "unasked": list(self.unasked),
            "silenced": self.silenced,
            "answers": [_comparison(comparison) for comparison in self.comparisons],
            "dependencies": self.dependencies.as_dict(),
            "costs": [figures.as_dict() for figures in self.figures],
        }

    def __str__(self) -> str:
        from foretell.check.report_text import report_text

        return report_text(self)

    def _view(self, rows: int) -> View:
        every = (*self.findings, *self.notes)
        shown = [(_where(f), f.code, f.statement, f.message) for f in every[:rows]]
        title = f"{counted(len(self.findings), 'finding')} in {counted(len(self.statements), 'statement')}"
        return View(
            title, ("line", "code", "statement", "message"), shown, list(self._remarks()), len(every) - len(shown)
        )

    def _remarks(self) -> Iterator[str]:
        for comparison in self.comparisons:
            yield comparison.as_text()
        if self.undecided or self.unasked:
            yield undecided_text(self.undecided, self.unasked)


def undecided_text(undecided: Sequence[Finding], unasked: Sequence[str]) -> str:
    """How many questions have no answer, and of which statements."""
    names = list(dict.fromkeys([*(f"'{finding.statement}'" for finding in undecided), *(f"'{n}'" for n in unasked)]))
    over = "; the time was over before all questions were asked" if unasked else ""
    return f"cannot tell everything about {counted(len(names), 'statement')}: {listed(names)}{over}"


def _where(finding: Finding) -> str:
    return "" if finding.place == NOWHERE else f"{finding.place.line}:{finding.place.column}"


def _finding(finding: Finding) -> dict[str, Any]:
    place = finding.place
    kind = "undecided" if not finding.certain else "note" if is_note(finding.code) else "finding"
    return {
        "code": finding.code,
        "kind": kind,
        "statement": finding.statement or None,
        "line": place.line or None,
        "column": place.column or None,
        "end_line": (place.end_line or place.line) or None,
        "end_column": place.end_column or None,
        "message": finding.message,
        "hint": finding.hint or None,
        "witness": _witness(finding.witness),
    }


def _witness(witness: Witness | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    events: list[Mapping[str, Any]] = [
        {"stream": event.stream, "time": event.time, "attributes": dict(event.attributes)} for event in witness.events
    ]
    return {"events": events, "until": witness.until}


def _comparison(comparison: StatementComparison) -> dict[str, Any]:
    return {
        "statement": comparison.left or None,
        "other": comparison.right or None,
        "relation": comparison.relation.name.lower(),
        "reason": comparison.reason or None,
        "witness": _witness(comparison.left_alone),
        "other_witness": _witness(comparison.right_alone),
    }
