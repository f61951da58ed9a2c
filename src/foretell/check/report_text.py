"""A report as text for people, as errors are printed: place, message, excerpt, hint, and the witness as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretell.check.codes import is_note
from foretell.check.comparison import StatementComparison
from foretell.check.finding import Finding
from foretell.check.report import CheckReport
from foretell.errors import NOWHERE, excerpt, lines_of, whole_place
from foretell.language.checked import CheckedProgram

#: So many characters of a line of the text are shown.
WIDEST = 200


def report_text(report: CheckReport, widest: int = WIDEST) -> str:
    """The whole report, with what the costs are where it has them."""
    return "\n".join(_blocks(report, widest))


def _blocks(report: CheckReport, widest: int) -> Iterator[str]:
    lines = lines_of(report.text)
    for finding in (*report.findings, *report.notes, *report.undecided):
        yield finding_text(finding, report.file, lines, report.program, widest)
    for comparison in report.comparisons:
        yield "\n".join(_comparison_lines(comparison, report))
    for figures in report.figures:
        yield "\n".join(figures.lines())


def finding_text(
    finding: Finding, file: str, lines: Sequence[str], program: CheckedProgram | None, widest: int = WIDEST
) -> str:
    """A finding as errors are printed. `lines` are those of its text, `program` serves to replay the witness."""
    message = f"{'note: ' if is_note(finding.code) else ''}{finding.message} [{finding.code}]"
    shown = [message]
    if finding.place != NOWHERE:
        place = whole_place(lines, finding.place)
        where = f"{file}:" if file else ""
        shown = [f"{where}{place.line}:{place.column}: {message}", *excerpt(lines, place, widest)]
    elif file:
        shown = [f"{file}: {message}"]
    if finding.hint:
        shown.append(f"  hint: {finding.hint}")
    if finding.witness is not None and program is not None:
        from foretell.check.witness_table import witness_lines  # loads the reference evaluator

        shown.append("  shown by these events:" if finding.witness.events else "  shown by a stream without events:")
        shown += (f"    {line}" for line in witness_lines(finding.witness, program, finding.statement))
    return "\n".join(shown)


def _comparison_lines(comparison: StatementComparison, report: CheckReport) -> Iterator[str]:
    yield comparison.as_text()
    if report.program is None or report.against is None:
        return
    from foretell.check.witness_table import compared_lines  # loads the reference evaluator

    for witness in (comparison.left_alone, comparison.right_alone):
        if witness is not None:
            yield "  shown by these events:"
            compared = compared_lines(witness, report.program, comparison.left, report.against, comparison.right)
            yield from (f"    {line}" for line in compared)
