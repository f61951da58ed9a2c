"""The figures of `foretell bench forecast` as pictures, with plain axes as the paper has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from foretell.bench.growth.curves import Point
from foretell.charts.curves import Axis, Curve, Curves
from foretell.charts.page import Picture, save

_PART = (0.0, 1.0)
_THRESHOLD = Axis("threshold", log=False, span=_PART)
_PRECISION = Axis("precision", log=False, span=_PART)
_POINTS = Axis("points", log=False)


def _plain(title: str, unit: str = "") -> Axis:
    return Axis(title, unit, log=False)


_STATES, _TIME, _POOL = _plain("states"), _plain("time per event", "s"), _plain("distinct events in the pool")

#: Figure, title, what the paper says of it, axes.
_FIGURES: tuple[tuple[str, str, str, Axis, Axis], ...] = (
    (
        "fig9a",
        "States against subscriptions (Fig. 9a)",
        "The paper: linear, less steep for a small pool and for gaussian_cs. Without merging there are ten for each.",
        _plain("subscriptions"),
        _STATES,
    ),
    (
        "fig9b",
        "Time against subscriptions (Fig. 9b)",
        "The paper: grows, more for a small pool and for gaussian_cs.",
        _plain("subscriptions"),
        _TIME,
    ),
    (
        "fig9c",
        "Time against non-contiguous operators (Fig. 9c)",
        "The paper: grows, since more partial matches wait.",
        _plain("non-contiguous operators, of nine"),
        _TIME,
    ),
    (
        "fig9d",
        "What subscriptions have in common (Fig. 9d)",
        "States that serve several subscriptions as a part of all states without merging. The paper: falls with the "
        "length. Besides, how many states merging saves.",
        _plain("steps of a subscription"),
        _plain("commonality", "%"),
    ),
    (
        "fig9e",
        "States against the pool (Fig. 9e)",
        "The paper: grows with the pool, with fewer states for gaussian_cs.",
        _POOL,
        _STATES,
    ),
    (
        "fig9f",
        "Transitions against the pool (Fig. 9f)",
        "The paper: fall with the pool; fewer for gaussian_pub.",
        _POOL,
        _plain("transitions"),
    ),
    (
        "fig10a",
        "More partial matches than in training (Fig. 10a)",
        "The paper: precision rises with the threshold, falls with the look-ahead and with more partial matches.",
        _THRESHOLD,
        _PRECISION,
    ),
    (
        "fig10b",
        "Trained and judged on the same law (Fig. 10b)",
        "The paper: at high thresholds precision is the same however far one looks ahead.",
        _THRESHOLD,
        _PRECISION,
    ),
    (
        "fig10c",
        "Trained on gaussian_pub, judged on uniform_pub (Fig. 10c)",
        "The paper: less precise than with the same law.",
        _THRESHOLD,
        _PRECISION,
    ),
    *(
        (
            f"fig11-{model}{slug}",
            f"Heat waves, the {model} model: {what} (Fig. 11{letter})",
            sentence,
            _THRESHOLD,
            axis,
        )
        for model, letters, sentence in (
            ("generated", "abc", "Five states, from the subscription alone."),
            ("full", "def", "1,365 contexts: the last five days in four classes."),
        )
        for slug, what, axis, letter in (
            ("-false", "false positives", _POINTS, letters[0]),
            ("-true", "true positives", _POINTS, letters[1]),
            ("", "precision", _PRECISION, letters[2]),
        )
    ),
    (
        "fig11-auc",
        "Heat waves: how well both models part the days",
        "The area under the ROC curve; 0.5 is chance.",
        _plain("days ahead"),
        Axis("AUC", log=False, span=(0.5, 1.0)),
    ),
    (
        "fig11-error",
        "Heat waves: calibration of both models",
        "The expected calibration error; 0 is perfect.",
        _plain("days ahead"),
        _plain("expected calibration error"),
    ),
)


def drawn(points: Iterator[Point], folder: Path) -> Iterator[Point]:
    """Hands the points on and, when they are all there, draws them."""
    folder.mkdir(parents=True, exist_ok=True)  # before minutes of measuring
    seen = []
    for point in points:
        seen.append(point)
        yield point
    save(folder, "forecast", "The experiments of P-ToPSS", _INTRODUCTION, pictures(seen))


_INTRODUCTION = (
    "Section 6 of “Predictive Publish/Subscribe Matching” (Muthusamy, Liu, Jacobsen, DEBS 2010) on its own synthetic "
    "workloads: composite subscriptions of ten steps over a pool of fifty events, with two operators `;` among the `,`."
)


def pictures(points: Sequence[Point]) -> list[Picture]:
    """A picture for each figure of which something was measured."""
    found: list[Picture] = []
    for figure, title, sentence, x, y in _FIGURES:
        mine = [(p.curve, p.x, p.y) for p in points if p.figure == figure and p.x is not None and p.y is not None]
        names = dict.fromkeys(curve for curve, _, _ in mine)
        curves = tuple(Curve(name, tuple((x, y) for curve, x, y in mine if curve == name)) for name in names)
        if curves:
            found.append(Curves(figure, title, sentence, x, y, curves))
    return found
