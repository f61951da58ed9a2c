"""The process that checks texts for the language server: a request a line on standard input, an answer a line on
standard output. The server ends it where an answer is not wanted any more."""

from __future__ import annotations

import json
import sys
from typing import Any

from foretell.api.statement_check import check
from foretell.check.finding import Finding
from foretell.check.report import CheckReport
from foretell.check.witness_table import witness_lines
from foretell.errors import ForetellError
from foretell.extras import MissingExtraError

#: So many findings are sent.
_MOST = 500


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The findings on a text; `missing` says what to install where they need it."""
    try:
        report = check(request["text"], seconds=request["seconds"], statement_seconds=request["statement_seconds"])
        every = (*report.findings, *report.undecided)[:_MOST]
        return {"findings": [_finding(finding, report) for finding in every]}
    except MissingExtraError as error:
        return {"findings": [], "missing": str(error)}
    except ForetellError:  # the server shows it: the parser and the type check run there too
        return {"findings": []}


def _finding(finding: Finding, report: CheckReport) -> dict[str, Any]:
    place = finding.place
    return {
        "code": finding.code,
        "kind": "finding" if finding.certain else "undecided",
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "message": finding.message,
        "hint": finding.hint,
        "shown_witness": _shown_witness(finding, report),
    }


def _shown_witness(finding: Finding, report: CheckReport) -> str:
    if finding.witness is None or report.program is None:
        return ""
    begin = "shown by these events:" if finding.witness.events else "shown by a stream without events:"
    return "\n".join([begin, *witness_lines(finding.witness, report.program, finding.statement)])


def main() -> None:
    for line in sys.stdin.buffer:
        reply = json.dumps(answer(json.loads(line)))
        sys.stdout.write(f"{reply}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
