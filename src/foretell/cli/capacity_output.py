"""The work and the output of `foretell capacity`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from foretell.api.capacity import capacity
from foretell.capacity.report import CapacityReport
from foretell.cli.output import is_terminal, say, terminal_width
from foretell.cli.progress_display import progress
from foretell.display import counted, duration_text
from foretell.notify.files import standard_output, writing_to

#: The width of the tables where the output is no terminal.
_WIDTH = 160


def examine(scenario: Path, page: Path | None, *, as_json: bool, quiet: bool) -> None:
    with progress("reading the scenario"):
        report = capacity(scenario)
    if page is not None:
        from foretell.charts.capacity import capacity_page  # loads the chart libraries

        capacity_page(report).save(page)
    width = terminal_width(sys.stdout) if is_terminal(sys.stdout) else _WIDTH
    text = json.dumps(report.as_dict()) + "\n" if as_json else report.text(width)
    output = standard_output()
    with writing_to(output):
        output.write(text.encode())
    if not quiet:
        _summarize(report, page)
    if not any(point.is_stable for point in report.points):
        raise typer.Exit(1)


def _summarize(report: CapacityReport, page: Path | None) -> None:
    """Findings and notes, on standard error."""
    for note in report.notes:
        say(f"note: measured: {note}")
    for finding in report.findings():
        say(f"warning: {finding}")
    firings = sum(point.measures.firings for point in report.points)
    written = f", written to {page}" if page is not None else ""
    done = f"{counted(len(report.points), 'point')}, {counted(firings, 'firing')}, {duration_text(report.seconds)}"
    say(f"{done}{written}")
