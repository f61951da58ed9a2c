"""Layouts of graphs: no box or label covers another, every edge is there and meets its boxes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.charts.automaton_layout import Arrow, ArrowKind, Box, GraphLayout, LayoutPoint, PlacedBox, arrange


@dataclass(frozen=True)
class Area:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, middle: LayoutPoint, width: float, height: float) -> Area:
        return cls(middle.x - width / 2, middle.y - height / 2, middle.x + width / 2, middle.y + height / 2)

    def overlaps(self, other: Area) -> bool:
        slack = 1e-6
        across = self.left < other.right - slack and other.left < self.right - slack
        return across and self.top < other.bottom - slack and other.top < self.bottom - slack


def areas(layout: GraphLayout, arrows: list[Arrow]) -> list[Area]:
    """Those of all boxes and labels."""
    boxes = [Area.around(LayoutPoint(box.x, box.y), box.width, box.height) for box in layout.boxes]
    labels = [
        Area.around(placed.label, arrow.width, arrow.height)
        for placed, arrow in zip(layout.arrows, arrows, strict=True)
        if placed.label is not None
    ]
    return [*boxes, *labels]


def boxes_of(count: int) -> list[Box]:
    return [Box(f"{number}", 30 + 13 * (number % 4), 20 + 9 * (number % 3)) for number in range(count)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Arrow]]:
    count = draw(st.integers(1, 9))
    ends = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=16))
    arrows = [
        Arrow(f"{source}", f"{target}", 20.0 + 7 * (number % 5), 14.0 * (number % 3))
        for number, (source, target) in enumerate(pairs)
    ]
    return boxes_of(count), arrows


def meets(box: PlacedBox, point: LayoutPoint) -> bool:
    """Whether a point is on the edge of a box."""
    across, down = abs(point.x - box.x) - box.width / 2, abs(point.y - box.y) - box.height / 2
    return abs(max(across, down)) < 1e-6


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_nothing_covers_anything_and_every_edge_meets_its_boxes(graph: tuple[list[Box], list[Arrow]]) -> None:
    boxes, arrows = graph
    layout = arrange(boxes, arrows)
    assert [box.name for box in layout.boxes] == [box.name for box in boxes]
    assert [placed.number for placed in layout.arrows] == list(range(len(arrows)))
    found = areas(layout, arrows)
    assert not [pair for pair in combinations(found, 2) if pair[0].overlaps(pair[1])]
    assert all(area.left >= 0 and area.top >= 0 for area in found)
    assert all(area.right <= layout.width and area.bottom <= layout.height for area in found)
    by_name = {box.name: box for box in layout.boxes}
    for placed, arrow in zip(layout.arrows, arrows, strict=True):
        assert meets(by_name[arrow.source], placed.points[0])
        assert meets(by_name[arrow.target], placed.points[-1])
        assert (placed.label is None) == (not arrow.height)
        assert (placed.kind is ArrowKind.LOOP) == (arrow.source == arrow.target)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_no_straight_piece_crosses_a_box(graph: tuple[list[Box], list[Arrow]]) -> None:
    """Curves are in the gaps between layers; the straight pieces are beside boxes, but for those that they end at."""
    boxes, arrows = graph
    layout = arrange(boxes, arrows)
    for placed, arrow in zip(layout.arrows, arrows, strict=True):
        if placed.kind is ArrowKind.LOOP:
            continue
        assert len(placed.points) % 2 == 0
        for start, end in zip(placed.points[::2], placed.points[1::2], strict=True):
            assert start.y == end.y
            low, high = sorted((start.x, end.x))
            crossed = [
                box.name
                for box in layout.boxes
                if low < box.x + box.width / 2 - 1e-6
                and box.x - box.width / 2 < high - 1e-6
                and abs(start.y - box.y) < box.height / 2 - 1e-6
            ]
            assert set(crossed) <= {arrow.source, arrow.target} or not crossed


def test_layers_go_from_left_to_right() -> None:
    chain = [Arrow("0", "1", 20, 10), Arrow("1", "2", 20, 10), Arrow("0", "2", 20, 10)]
    layout = arrange(boxes_of(3), chain)
    first, second, third = layout.boxes
    assert first.x < second.x < third.x
    assert {arrow.kind for arrow in layout.arrows} == {ArrowKind.FORWARD}


def test_an_edge_that_closes_a_cycle_goes_back() -> None:
    layout = arrange(boxes_of(3), [Arrow("0", "1"), Arrow("1", "2"), Arrow("2", "0", 30, 12)])
    *_, back = layout.arrows
    assert back.kind is ArrowKind.BACK
    assert back.points[0].x > back.points[-1].x
    assert back.label is not None


def test_a_chain_is_straight() -> None:
    layout = arrange(boxes_of(6), [Arrow(f"{n}", f"{n + 1}", 10, 10) for n in range(5)])
    assert len({round(box.y, 3) for box in layout.boxes}) == 1
    assert "C" not in layout.arrows[0].path()


def test_two_crossed_pairs_are_uncrossed() -> None:
    """The order in a layer follows the neighbours."""
    arrows = [Arrow("r", "a"), Arrow("r", "b"), Arrow("a", "y"), Arrow("b", "x")]
    layout = arrange([Box(name, 20, 20) for name in ("r", "a", "b", "x", "y")], arrows)
    at = {box.name: box.y for box in layout.boxes}
    assert (at["a"] < at["b"]) == (at["y"] < at["x"])


def test_several_loops_of_a_box() -> None:
    arrows = [Arrow("0", "0", 60, 14), Arrow("0", "0", 40, 14)]
    layout = arrange(boxes_of(1), arrows)
    found = areas(layout, arrows)
    assert not [pair for pair in combinations(found, 2) if pair[0].overlaps(pair[1])]
    assert all(area.top >= 0 for area in found)


def test_no_boxes_and_wrong_edges() -> None:
    assert arrange([], []) == GraphLayout(0.0, 0.0, (), ())
    with pytest.raises(ValueError, match="'9', which is no box"):
        arrange(boxes_of(1), [Arrow("0", "9")])
    with pytest.raises(ValueError, match="same name"):
        arrange([Box("a", 1, 1), Box("a", 1, 1)], [])


def test_a_large_graph_takes_little_time() -> None:
    arrows = [Arrow(f"{n}", f"{(7 * n + k) % 80}", 40, 14) for n in range(80) for k in (1, 2, 5)]
    layout = arrange(boxes_of(80), arrows)
    assert len(layout.boxes) == 80
    assert len(layout.arrows) == 240
