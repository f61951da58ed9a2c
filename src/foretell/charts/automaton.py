"""The drawing of an automaton: states from left to right, edges with the step that they bind and their conditions.

It is SVG without a script: a state or an edge shows its full text when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from html import escape
from typing import Any

from foretell.charts.automaton_layout import (
    Arrow,
    ArrowKind,
    Box,
    GraphLayout,
    LayoutPoint,
    PlacedArrow,
    PlacedBox,
    arrange,
)
from foretell.charts.chart import Chart, ChartRecord, nothing_to_draw
from foretell.charts.theme import COLOURS, DOMAIN, GREY, INK, PANEL, PAPER, TEXT
from foretell.display import counted, shortened

#: The font is one whose signs all have the same width, so that a label is as wide as the layout takes it to be.
_FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_SIZE, _LINE, _SIGN = 12, 16.0, 7.3

#: Inside a box, to the left and right of its text and above and below.
_PAD_X, _PAD_Y = 12.0, 9.0

#: The diameter of the first state and of a final one.
_DOT, _RING = 16.0, 30.0

#: The longest line of a box and of a label; the rest is shown on hovering.
MOST_SIGNS = 34

#: The steps that the label of an edge names.
_STEPS = 3

#: Larger automata cannot be read as a drawing.
MOST_STATES, MOST_EDGES = 120, 240


class StateKind(Enum):
    START = "start"
    WAITING = "waiting"
    FINAL = "final"
    #: A transition of a correlation machine, which the paper draws as a box between its states.
    TRANSITION = "transition"


class Tone(Enum):
    """The meaning of a line of text, by which it has its colour."""

    NAME = "name"
    PLAIN = "plain"
    NEGATED = "negated"
    LEARNED = "learned"
    LOST = "lost"


@dataclass(frozen=True)
class TextLine:
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class DrawnState:
    """A state; `hover` is its full text."""

    name: str
    kind: StateKind
    lines: tuple[TextLine, ...] = ()
    hover: str = ""


@dataclass(frozen=True)
class DrawnEdge:
    """An edge of one step, or of several with one label; `hover` is its full text. A faint one is never taken."""

    source: str
    target: str
    lines: tuple[TextLine, ...] = ()
    hover: str = ""
    faint: bool = False


_TONES = {
    Tone.NAME: INK,
    Tone.PLAIN: TEXT,
    Tone.NEGATED: COLOURS[4],
    Tone.LEARNED: COLOURS[0],
    Tone.LOST: COLOURS[1],
}


@dataclass(frozen=True, repr=False)
class AutomatonChart(Chart):
    """States and edges; the first state is at the left."""

    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]

    def specification(self) -> dict[str, Any]:
        """The places of all boxes, labels and lines, with their texts: `layout`, `states` and `edges`."""
        self._check()
        return {"layout": asdict(self.layout()), **self._plain()}

    def records(self) -> list[ChartRecord]:
        plain = self._plain()
        return [{"what": name, **record} for name in ("states", "edges") for record in plain[name]]

    def _plain(self) -> dict[str, list[ChartRecord]]:
        """States and edges as plain values."""
        states = [
            {"name": s.name, "kind": s.kind.value, "text": _texts(s.lines), "hover": s.hover} for s in self.states
        ]
        edges = [
            {"source": e.source, "target": e.target, "text": _texts(e.lines), "hover": e.hover, "faint": e.faint}
            for e in self.edges
        ]
        return {"states": states, "edges": edges}

    def _check(self) -> None:
        if not self.states:
            raise nothing_to_draw(self.title, "the automaton has no states")
        if len(self.states) > MOST_STATES or len(self.edges) > MOST_EDGES:
            size = f"{len(self.states):,} states and {len(self.edges):,} edges"
            hint = "see foretell explain --format text, or --format json"
            raise nothing_to_draw(self.title, f"{size} cannot be read as a drawing", hint)

    @property
    def is_readable(self) -> bool:
        """Whether a drawing would be of use: not of very many states."""
        return 0 < len(self.states) <= MOST_STATES and len(self.edges) <= MOST_EDGES

    def layout(self) -> GraphLayout:
        boxes = [Box(state.name, *_box_size(state)) for state in self.states]
        arrows = [Arrow(edge.source, edge.target, *_label_size(edge.lines)) for edge in self.edges]
        return arrange(boxes, arrows)

    # ── drawing ──

    def drawing(self) -> str:
        return self.bare_svg()

    def bare_svg(self) -> str:
        self._check()
        return "".join(self._elements(self.layout()))

    def _elements(self, layout: GraphLayout) -> Iterator[str]:
        width, height = round(layout.width), round(layout.height)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(self.title)}" '
            f'font-family="{_FONT}" font-size="{_SIZE}">'
        )
        yield f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
        yield f"<defs>{self._heads()}</defs>"
        for edge, placed in zip(self.edges, layout.arrows, strict=True):
            yield self._line(edge, placed)
        for state, box in zip(self.states, layout.boxes, strict=True):
            yield f"<g>{_hover(state.hover)}{_shape(state, box)}</g>"
        for edge, placed in zip(self.edges, layout.arrows, strict=True):
            if placed.label is not None:
                yield f"<g>{_hover(edge.hover)}{_label(edge, placed.label)}</g>"
        yield "</svg>"

    def _heads(self) -> str:
        """The heads of arrows. Their names are the chart's own: those of another chart on the page may differ."""
        return "".join(
            f'<marker id="{self.slug}-{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto-start-reverse"><path d="M0,0.5 L8,4 L0,7.5 z" fill="{colour}"/></marker>'
            for name, colour in (("head", GREY), ("back", COLOURS[3]))
        )

    def _line(self, edge: DrawnEdge, placed: PlacedArrow) -> str:
        goes_back = placed.kind is ArrowKind.BACK
        colour, head = (COLOURS[3], "back") if goes_back else (GREY, "head")
        dashes = ' stroke-dasharray="2 4"' if edge.faint else ' stroke-dasharray="6 3"' if goes_back else ""
        return (
            f'<path d="{placed.path()}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes} '
            f'marker-end="url(#{self.slug}-{head})">{_hover(edge.hover)}</path>'
        )


def _texts(lines: tuple[TextLine, ...]) -> str:
    return "\n".join(line.text for line in lines)


def _hover(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


# ── boxes ──


def _box_size(state: DrawnState) -> tuple[float, float]:
    if state.kind is StateKind.START:
        return _DOT, _DOT
    if state.kind is StateKind.FINAL:
        return _RING, _RING
    width, height = _text_size(state.lines)
    return width + 2 * _PAD_X, height + 2 * _PAD_Y


def _text_size(lines: tuple[TextLine, ...]) -> tuple[float, float]:
    if not lines:
        return 0.0, 0.0
    return max(min(len(line.text), MOST_SIGNS) for line in lines) * _SIGN, len(lines) * _LINE


def _shape(state: DrawnState, box: PlacedBox) -> str:
    x, y = f"{box.x:.1f}", f"{box.y:.1f}"
    if state.kind is StateKind.START:
        return f'<circle cx="{x}" cy="{y}" r="{_DOT / 2}" fill="{TEXT}"/>'
    if state.kind is StateKind.FINAL:
        rings = ((_RING / 2, PANEL), (_RING / 2 - 4, COLOURS[2]))
        return "".join(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{COLOURS[2]}" stroke-width="2"/>'
            for radius, fill in rings
        )
    corner = 3 if state.kind is StateKind.TRANSITION else 12
    border = DOMAIN if state.kind is StateKind.TRANSITION else COLOURS[0]
    frame = (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{corner}" fill="{PANEL}" stroke="{border}" stroke-width="1.5"/>'
    )
    return frame + _text(state.lines, LayoutPoint(box.x, box.y))


# ── labels ──


def _label_size(lines: tuple[TextLine, ...]) -> tuple[float, float]:
    width, height = _text_size(lines)
    return (width + 8, height + 4) if lines else (0.0, 0.0)


def _label(edge: DrawnEdge, middle: LayoutPoint) -> str:
    """The text on a patch of the background, which interrupts the line."""
    width, height = _label_size(edge.lines)
    patch = (
        f'<rect x="{middle.x - width / 2:.1f}" y="{middle.y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" fill="{PAPER}" rx="3"/>'
    )
    return patch + _text(edge.lines, middle, faint=edge.faint)


def _text(lines: tuple[TextLine, ...], middle: LayoutPoint, *, faint: bool = False) -> str:
    first = middle.y - (len(lines) - 1) * _LINE / 2
    return "".join(
        f'<text x="{middle.x:.1f}" y="{first + number * _LINE + 4:.1f}" text-anchor="middle" '
        f'fill="{GREY if faint else _TONES[line.tone]}"{_weight(line)}>'
        f"{escape(shortened(line.text, MOST_SIGNS))}</text>"
        for number, line in enumerate(lines)
    )


def _weight(line: TextLine) -> str:
    return ' font-weight="600"' if line.tone is Tone.NAME else ""


def edge_lines(steps: list[tuple[str, str]], learned: str = "") -> tuple[TextLine, ...]:
    """The label of an edge: each step with its condition, then the learned probability.

    >>> [line.text for line in edge_lines([("a", "x > 1"), ("b", "")], "12%")]
    ['a', 'x > 1', 'b', '12%']
    """
    lines: list[TextLine] = []
    for step, condition in steps[:_STEPS]:
        lines.append(TextLine(step, Tone.NAME))
        if condition:
            lines.append(TextLine(condition))
    if len(steps) > _STEPS:
        lines.append(TextLine(f"… {counted(len(steps) - _STEPS, 'more step')}"))
    return (*lines, *([TextLine(learned, Tone.LEARNED)] if learned else []))
