"""A report as GitHub's workflow commands, which annotate the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.codes import is_note
from foretell.check.finding import Finding
from foretell.check.report import CheckReport
from foretell.errors import ForetellError, Place


def annotation_lines(report: CheckReport) -> Iterator[str]:
    """A line for each finding, note, question without an answer, and statement that is not equivalent to another."""
    for finding in (*report.findings, *report.notes, *report.undecided):
        yield _annotation(_level(finding), report.file, finding.place, finding.code, _message(finding))
    for comparison in report.comparisons:
        if not comparison.is_equivalent:
            yield _annotation("warning", report.file, Place(0, 0, 0), "not-equivalent", comparison.as_text())


def error_annotation(error: ForetellError, file: str) -> str:
    """The annotation of a text that is no program."""
    message = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
    return _annotation("error", file, error.place, error.code, message)


def _level(finding: Finding) -> str:
    return "warning" if finding.certain and not is_note(finding.code) else "notice"


def _message(finding: Finding) -> str:
    return f"{finding.message}\nhint: {finding.hint}" if finding.hint else finding.message


def _annotation(level: str, file: str, place: Place, code: str, message: str) -> str:
    """
    >>> _annotation("warning", "a,b.ftl", Place(3, 5, 9), "vacuous", "100% never\\nhint: x")
    '::warning file=a%2Cb.ftl,line=3,col=5,title=foretell%3A vacuous::100%25 never%0Ahint: x'
    """
    properties = {"file": file, "line": str(place.line or ""), "col": str(place.column or "")}
    properties["title"] = f"foretell: {code}"
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {shown}::{_data(message)}"


def _data(text: str) -> str:
    """A text in a workflow command, which ends with its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value of a workflow command, which ends at a comma or a colon."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
