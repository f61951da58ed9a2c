"""Diagnostics: errors of the parser and the type check, and findings of checks, as an editor shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from foretell.errors import NOWHERE, ForetellError, Place
from foretell.lsp.documents import LARGEST_TEXT, Document
from foretell.lsp.positions import TextPositions

SOURCE = "foretell"
_START = Place(1, 1, 1)
#: So many findings are shown.
_MOST_FINDINGS = 500


def error_diagnostics(document: Document) -> list[types.Diagnostic]:
    """A diagnostic for each error of the analysis; one remark where the text is too large for one."""
    if document.is_too_large:
        message = f"this text has more than {LARGEST_TEXT:,} characters: the editor's help is off; run foretell check"
        severity = types.DiagnosticSeverity.Information
        return [_diagnostic(document.positions, _START, message, "too-large", severity)]
    return [_of_error(document.positions, error) for error in document.analysis.errors]


def _of_error(positions: TextPositions, error: ForetellError) -> types.Diagnostic:
    place = _START if error.place == NOWHERE else error.place
    message = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
    return _diagnostic(positions, place, message, error.code, types.DiagnosticSeverity.Error)


def _diagnostic(
    positions: TextPositions, place: Place, message: str, code: str, severity: types.DiagnosticSeverity
) -> types.Diagnostic:
    start, end = positions.span(place)
    shown = positions.range(start, max(end, start))
    return types.Diagnostic(range=shown, message=message, severity=severity, code=code, source=SOURCE)


@dataclass(frozen=True)
class PlacedFinding:
    """A finding of the checking process, with its place in the text of its statement.

    As long as the statement has this text, the finding holds while others are typed.
    """

    statement: str
    start: int
    end: int
    finding: Mapping[str, Any]


def placed_findings(document: Document, findings: Sequence[Mapping[str, Any]]) -> list[PlacedFinding]:
    """The findings on a version of a text that was checked; those without a place are about its first statement."""
    placed: list[PlacedFinding] = []
    for finding in findings[:_MOST_FINDINGS]:
        start, end = document.positions.span(_place_of(finding))
        for statement in document.statements:
            if statement.start <= start <= statement.end or statement is document.statements[-1]:
                text = document.text[statement.start : statement.end]
                placed.append(PlacedFinding(text, start - statement.start, end - statement.start, finding))
                break
    return placed


def _place_of(finding: Mapping[str, Any]) -> Place:
    if not finding["line"]:
        return _START
    return Place(finding["line"], finding["column"], finding["end_column"], finding["end_line"])


def finding_diagnostics(document: Document, placed: Sequence[PlacedFinding]) -> list[types.Diagnostic]:
    """The diagnostics of findings whose statements have not changed."""
    starts: dict[str, int] = {}
    for statement in document.statements:
        starts.setdefault(document.text[statement.start : statement.end], statement.start)
    return [
        _of_finding(document.positions, starts[found.statement], found) for found in placed if found.statement in starts
    ]


def _of_finding(positions: TextPositions, start: int, placed: PlacedFinding) -> types.Diagnostic:
    finding = placed.finding
    certain = finding["kind"] == "finding"
    lines = [finding["message"]]
    if finding["hint"]:
        lines.append(f"hint: {finding['hint']}")
    if finding["shown_witness"]:
        lines.append(finding["shown_witness"])
    return types.Diagnostic(
        range=positions.range(start + placed.start, start + placed.end),
        message="\n".join(lines),
        severity=types.DiagnosticSeverity.Warning if certain else types.DiagnosticSeverity.Information,
        code=finding["code"],
        source=SOURCE,
    )
