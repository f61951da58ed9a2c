"""The curves of `foretell bench growth` as pictures: what stands in which, and what one should see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from foretell.bench.growth.curves import Point
from foretell.charts.bars import Bars
from foretell.charts.curves import Axis, Curve, Curves
from foretell.charts.page import Picture, save


@dataclass(frozen=True)
class _Figure:
    slug: str
    title: str
    sentence: str
    x: str = ""
    y: str = "time per event"
    linear: bool = False


_FIGURES = (
    _Figure(
        "window",
        "A longer window, more matches",
        "a ; b ; c WITHIN d finds matches with the square of d. Whoever wants them must pay for each, but no more: the "
        "time per event and match should stay level.",
        "window (ms; an event every 10)",
        "time",
    ),
    _Figure(
        "window-kept",
        "A longer window, few matches",
        "The same pattern with a last step that hardly ever comes. Only what the window keeps grows: at most linear.",
        "window (ms; an event every 10)",
        linear=True,
    ),
    _Figure(
        "age",
        "A stream that goes on",
        "Batches of a stream that gets longer. What has left a window costs nothing any more, and lanes that wait for "
        "their next event cost the others nothing: both lines should be level.",
        "events so far",
    ),
    _Figure(
        "age-memory",
        "Memory of a stream that goes on",
        "What the engines in the picture before have grown by: level.",
        "events so far",
        "memory",
        linear=True,
    ),
    _Figure(
        "lanes",
        "More lanes",
        "Events of a random one of so many lanes, all of them open, in batches of up to a million. The line rises "
        "where lanes no longer fit the processor's caches and should be level on both sides of that.",
        "lanes (PER k)",
        linear=True,
    ),
    _Figure(
        "lanes-opening",
        "The first event of a lane",
        "The time that an event takes which opens a lane. Level, apart from what an engine costs that has hardly any.",
        "lanes (PER k)",
        "time per lane",
    ),
    _Figure(
        "lanes-memory",
        "Memory of a lane",
        "What the process grew by while lanes opened, for each lane. Level, and small.",
        "lanes (PER k)",
        "memory per lane",
    ),
    _Figure(
        "lanes-push",
        "One event among many lanes",
        "A batch of one event in an engine with so many lanes. It touches one lane, so the line should be level.",
        "lanes (PER k)",
        "time per batch of one",
        linear=True,
    ),
    _Figure(
        "template",
        "More rows of a template",
        "FOR EACH row: with the threshold in the first step one look-up serves all rows, and the line should be level "
        "or nearly so; elsewhere at most linear.",
        "rows",
        linear=True,
    ),
    _Figure(
        "template-start",
        "Starting with more rows",
        "The time until the engine is ready for its first event: at most linear.",
        "rows",
        "time",
        linear=True,
    ),
    _Figure(
        "statements",
        "More statements",
        "Separate statements in one engine: at most linear, and less where they share a step.",
        "statements",
        linear=True,
    ),
    _Figure(
        "statements-each",
        "More statements, the time for each",
        "The same for one event and one statement: level or falling.",
        "statements",
        "time per event and statement",
    ),
    _Figure(
        "statements-start",
        "Starting with more statements",
        "Reading, checking and planning them: at most linear.",
        "statements",
        "time",
        linear=True,
    ),
    _Figure(
        "partial",
        "More partial matches alive",
        "a ; b with so many a waiting in one lane. An event that concerns none of them should cost the same however "
        "many there are; one that must be compared with all is linear.",
        "partial matches",
        linear=True,
    ),
    _Figure(
        "partial-push",
        "One event among many partial matches",
        "A batch of one event that concerns none of them: level.",
        "partial matches",
        "time per batch of one",
        linear=True,
    ),
    _Figure(
        "batch",
        "Larger batches",
        "Engine.push with batches of so many events: falls until the cost of a batch no longer counts.",
        "events in a batch",
    ),
    _Figure(
        "push",
        "How long a push takes",
        "The same, for one push: level as long as the cost of a batch rules, then linear.",
        "events in a batch",
        "time per push",
        linear=True,
    ),
    _Figure(
        "subscribe",
        "One more subscription",
        "Adding a subscription to an engine at work: level, however many there are.",
        "subscriptions at work",
        "time",
        linear=True,
    ),
    _Figure(
        "start",
        "From nothing to the first notification",
        "A new process that finds its kernels compiled. It should be ready in under a second.",
    ),
    _Figure("imports", "What it loads", "Of this the time that each package takes to load, without what it loads."),
)


def drawn(points: Iterator[Point], folder: Path) -> Iterator[Point]:
    """Hands the points on and, when they are all there, draws them."""
    folder.mkdir(parents=True, exist_ok=True)  # before hours of measuring
    seen = []
    for point in points:
        seen.append(point)
        yield point
    save(folder, "growth", "How times grow", _INTRODUCTION, pictures(seen))


_INTRODUCTION = (
    "Both axes are logarithmic. After each curve stands its growth: x^0 is level, x^1 linear; where "
    "it is another in the last decade, that follows after an arrow. "
    "The dashed line shows linear growth."
)


def pictures(points: Sequence[Point]) -> list[Picture]:
    """A picture for each figure of which something was measured."""
    found: list[Picture] = []
    for figure in _FIGURES:
        mine = [p for p in points if p.figure == figure.slug and p.y is not None]
        notes = [f" ({p.curve}: {p.note}.)" for p in points if p.figure == figure.slug and p.note is not None]
        if mine:
            told = replace(figure, sentence=figure.sentence + "".join(notes))
            found.append(_curves(told, mine) if figure.x else _bars(told, mine))
    return found


def _curves(figure: _Figure, points: Sequence[Point]) -> Curves:
    names = dict.fromkeys(p.curve for p in points)
    curves = tuple(_curve(name, [p for p in points if p.curve == name]) for name in names)
    axes = Axis(figure.x), Axis(figure.y, points[0].unit)
    return Curves(figure.slug, figure.title, figure.sentence, *axes, curves, figure.linear)


def _curve(name: str, points: Sequence[Point]) -> Curve:
    known = tuple((p.x, p.y) for p in points if p.x is not None and p.y is not None)
    slopes = [s for s in (points[0].exponent, points[0].exponent_last) if s is not None]
    # One number where the last decade tells nothing else.
    told = slopes[:1] if not slopes or abs(slopes[0] - slopes[-1]) < 0.1 else slopes
    return Curve(name, known, " → ".join(f"x^{round(s, 1) + 0.0:.1f}" for s in told))


def _bars(figure: _Figure, points: Sequence[Point]) -> Bars:
    bars = tuple((p.curve, p.y) for p in points if p.y is not None)
    return Bars(figure.slug, figure.title, figure.sentence, "time", points[0].unit, bars)
