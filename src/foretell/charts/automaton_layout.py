"""The layout of a graph from left to right: layers of boxes, with labels of edges between them.

The method is that of Sugiyama, Tagawa and Toda (1981): edges that close a cycle are turned round, boxes come into
layers by their longest path from the first one, edges over several layers pass through places of their own, barycentres
decide the order in a layer. A label is a place like a box, in a layer of its own, so that neither covers the other. The
heights of a layer's places are those nearest to their neighbours' that keep the order and the distances: an isotonic
regression.

The module is pure geometry: it knows neither automata nor SVG.

>>> boxes = [Box("a", 40, 20), Box("b", 40, 20)]
>>> layout = arrange(boxes, [Arrow("a", "b", 30, 12), Arrow("b", "a"), Arrow("b", "b", 9, 9)])
>>> [(box.name, box.x < layout.width) for box in layout.boxes]
[('a', True), ('b', True)]
>>> [arrow.kind.value for arrow in layout.arrows]
['forward', 'back', 'loop']
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

#: Between two layers, and between two places of one layer.
LAYER_GAP, PLACE_GAP = 26.0, 14.0

#: Around the whole.
MARGIN = 14.0

#: The height of a place where an edge only passes.
_PASSAGE = 6.0

#: The height and the width of the curve of a loop above its box.
_LOOP_RISE, _LOOP_WIDTH = 22.0, 26.0

#: How often orders are improved, to and fro; how often heights are, at most, unless they move by less than that. All
#: moves together take a bounded time, however many places there are.
_SWEEPS, _MOST_MOVES, _STILL, _ALL_MOVES = 12, 100, 0.02, 60_000

#: Edges are the straighter the less they end at a box: between two passages their weight is the highest. Those that
#: lead back pull their boxes only a little, so that the others are straight.
_TO_BOX, _STRAIGHT, _BACK = 1.0, 8.0, 0.05


class LayoutPoint(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True)
class Box:
    """A box to be placed."""

    name: str
    width: float
    height: float


@dataclass(frozen=True)
class Arrow:
    """An edge with the size of its label, 0 where it has none."""

    source: str
    target: str
    width: float = 0.0
    height: float = 0.0


class ArrowKind(Enum):
    FORWARD = "forward"
    BACK = "back"
    LOOP = "loop"


@dataclass(frozen=True)
class PlacedBox:
    """A box; `x` and `y` are its middle."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class PlacedArrow:
    """An edge from its source to its target. `points` are the ends of straight and curved pieces, which take turns: it
    begins with a straight one. Of a loop they are the four control points of one curve. `label` is the middle of its
    label, None without one."""

    number: int
    kind: ArrowKind
    points: tuple[LayoutPoint, ...]
    label: LayoutPoint | None

    def path(self) -> str:
        """The path as SVG writes it."""
        first, *rest = self.points
        if self.kind is ArrowKind.LOOP:
            return f"M{_pair(first)} C{' '.join(map(_pair, rest))}"
        parts, at = [f"M{_pair(first)}"], first
        for number, point in enumerate(rest):
            if point == at:  # a piece of no length has no direction, which the head of an arrow needs
                continue
            middle = (at.x + point.x) / 2
            curved = number % 2 and at.y != point.y
            bend = f"C{_pair(LayoutPoint(middle, at.y))} {_pair(LayoutPoint(middle, point.y))} " if curved else "L"
            parts.append(f"{bend}{_pair(point)}")
            at = point
        return " ".join(parts)


@dataclass(frozen=True)
class GraphLayout:
    """Boxes in the order given, edges in the order given."""

    width: float
    height: float
    boxes: tuple[PlacedBox, ...]
    arrows: tuple[PlacedArrow, ...]


def _pair(point: LayoutPoint) -> str:
    return f"{point.x:.1f},{point.y:.1f}"


def arrange(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> GraphLayout:
    """Place boxes, the first of which is at the left, and edges between them. Raises ValueError for an edge of a box
    that is not there, and for two boxes of one name."""
    names = [box.name for box in boxes]
    if len(set(names)) < len(names):
        raise ValueError("two boxes have the same name")
    for arrow in arrows:
        for end in (arrow.source, arrow.target):
            if end not in names:
                raise ValueError(f"an edge ends at '{end}', which is no box")
    if not boxes:
        return GraphLayout(0.0, 0.0, (), ())
    return _Arrangement(boxes, arrows).result()


# ── layers ──


def _turned(names: Sequence[str], arrows: Sequence[Arrow]) -> set[int]:
    """The numbers of edges that close a cycle on a walk from the first box: without them there is none."""
    leaving: defaultdict[str, list[int]] = defaultdict(list)
    for number, arrow in enumerate(arrows):
        if arrow.source != arrow.target:
            leaving[arrow.source].append(number)
    turned: set[int] = set()
    open_boxes: set[str] = set()
    done: set[str] = set()
    for root in names:
        stack = [(root, iter(leaving[root]))] if root not in done else []
        open_boxes.update([root] if stack else [])
        while stack:
            name, edges = stack[-1]
            for number in edges:
                target = arrows[number].target
                if target in open_boxes:
                    turned.add(number)
                elif target not in done:
                    open_boxes.add(target)
                    stack.append((target, iter(leaving[target])))
                    break
            else:
                stack.pop()
                open_boxes.discard(name)
                done.add(name)
    return turned


def _layers(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The layer of each box: the length of the longest path to it."""
    following: defaultdict[str, list[str]] = defaultdict(list)
    awaited = dict.fromkeys(names, 0)
    for source, target in edges:
        following[source].append(target)
        awaited[target] += 1
    layer = dict.fromkeys(names, 0)
    ready = [name for name in names if not awaited[name]]
    while ready:
        name = ready.pop()
        for target in following[name]:
            layer[target] = max(layer[target], layer[name] + 1)
            awaited[target] -= 1
            if not awaited[target]:
                ready.append(target)
    return layer


# ── places ──


@dataclass(eq=False)
class _LayoutPlace:
    """A box, a label or a passage in its layer. `above` and `below` are how far it reaches from its line `y`; `pull` is
    the weight with which it draws its neighbours to its line."""

    layer: int
    width: float
    above: float
    below: float
    is_box: bool = False
    pull: float = 1.0
    y: float = 0.0
    before: list[_LayoutPlace] = field(default_factory=list)
    after: list[_LayoutPlace] = field(default_factory=list)


class _Arrangement:
    def __init__(self, boxes: Sequence[Box], arrows: Sequence[Arrow]) -> None:
        self._boxes, self._arrows = boxes, arrows
        names = [box.name for box in boxes]
        self._turned = _turned(names, arrows)
        straight = [
            (a.target, a.source) if number in self._turned else (a.source, a.target)
            for number, a in enumerate(arrows)
            if a.source != a.target
        ]
        layer = _layers(names, straight)
        self._loops: defaultdict[str, list[int]] = defaultdict(list)
        for number, arrow in enumerate(arrows):
            if arrow.source == arrow.target:
                self._loops[arrow.source].append(number)
        # Boxes are in even layers, labels in the odd ones between them.
        self._places = {box.name: self._box_place(box, 2 * layer[box.name]) for box in boxes}
        self._layers: list[list[_LayoutPlace]] = [[] for _ in range(2 * max(layer.values()) + 1)]
        for place in self._places.values():
            self._layers[place.layer].append(place)
        self._chains = {number: self._chain(number) for number, a in enumerate(arrows) if a.source != a.target}
        self._order()
        self._lefts, self._rights = self._columns()
        self._heights()

    def _box_place(self, box: Box, layer: int) -> _LayoutPlace:
        loops = [self._arrows[number] for number in self._loops[box.name]]
        above = box.height / 2 + sum(_LOOP_RISE + loop.height for loop in loops)
        width = max([box.width, *(loop.width for loop in loops)])
        return _LayoutPlace(layer, width, above, box.height / 2, is_box=True)

    def _chain(self, number: int) -> list[_LayoutPlace]:
        """The places of an edge from left to right, its boxes at the ends. Its label is next to the box that it
        leaves."""
        arrow, is_turned = self._arrows[number], number in self._turned
        left, right = (arrow.target, arrow.source) if is_turned else (arrow.source, arrow.target)
        start, end = self._places[left], self._places[right]
        labelled = end.layer - 1 if is_turned else start.layer + 1
        chain = [start]
        for layer in range(start.layer + 1, end.layer):
            size = (arrow.width, arrow.height) if layer == labelled else (0.0, 0.0)
            reach = max(size[1], _PASSAGE) / 2
            place = _LayoutPlace(layer, size[0], reach, reach, pull=_BACK if is_turned else 1.0)
            self._layers[layer].append(place)
            chain.append(place)
        chain.append(end)
        for place, following in pairwise(chain):
            place.after.append(following)
            following.before.append(place)
        return chain

    # ── order ──

    def _order(self) -> None:
        """The order with the fewest crossings that sweeps by barycentres find."""
        best, fewest = [list(layer) for layer in self._layers], self._crossings()
        for sweep in range(min(_SWEEPS, max(2, _ALL_MOVES // sum(map(len, self._layers)) // 2))):
            to_right = sweep % 2 == 0
            for layer in self._layers if to_right else reversed(self._layers):
                rank = self._ranks()
                layer.sort(key=lambda place: _barycentre(place, place.before if to_right else place.after, rank))
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self._layers], crossings
            if not fewest:
                break
        self._layers = best

    def _ranks(self) -> dict[_LayoutPlace, float]:
        """The place of each in its layer, from 0 to 1."""
        return {place: (n + 0.5) / len(layer) for layer in self._layers for n, place in enumerate(layer)}

    def _crossings(self) -> int:
        """The pairs of edges that cross between two layers: inversions of the ranks at their right ends."""
        rank = {place: n for layer in self._layers for n, place in enumerate(layer)}
        total = 0
        for layer in self._layers:
            passed: list[int] = []
            for place in layer:
                ends = sorted(rank[following] for following in place.after)
                total += sum(len(passed) - bisect_right(passed, end) for end in ends)
                for end in ends:
                    insort(passed, end)
        return total

    # ── coordinates ──

    def _columns(self) -> tuple[list[float], list[float]]:
        """The left and the right end of each layer."""
        lefts, rights, at = [], [], MARGIN
        for layer in self._layers:
            width = max((place.width for place in layer), default=0.0)
            lefts.append(at)
            rights.append(at + width)
            at += width + LAYER_GAP
        return lefts, rights

    def _heights(self) -> None:
        """At first the boxes of a layer are around one line, then they move towards their neighbours."""
        for layer in self._layers:
            total = sum(place.above + place.below for place in layer) + PLACE_GAP * (len(layer) - 1)
            # A single box is on the line, whatever loops are above it.
            at = -layer[0].above if len(layer) == 1 else -total / 2
            for place in layer:
                place.y = at + place.above
                at = place.y + place.below + PLACE_GAP
        for sweep in range(min(_MOST_MOVES, max(4, _ALL_MOVES // sum(map(len, self._layers))))):
            layers = self._layers if sweep % 2 == 0 else self._layers[::-1]
            if max([_align(layer) for layer in layers]) < _STILL:
                break
        top = min(place.y - place.above for layer in self._layers for place in layer)
        for layer in self._layers:
            for place in layer:
                place.y += MARGIN - top

    # ── result ──

    def result(self) -> GraphLayout:
        placed = {
            box.name: PlacedBox(box.name, self._middle(self._places[box.name]), self._places[box.name].y, *size)
            for box in self._boxes
            for size in [(box.width, box.height)]
        }
        ports = self._ports(placed)
        arrows = tuple(self._arrow(number, placed, ports) for number in range(len(self._arrows)))
        height = max(place.y + place.below for layer in self._layers for place in layer) + MARGIN
        return GraphLayout(self._rights[-1] + MARGIN, height, tuple(placed.values()), arrows)

    def _middle(self, place: _LayoutPlace) -> float:
        return (self._lefts[place.layer] + self._rights[place.layer]) / 2

    def _ports(self, placed: dict[str, PlacedBox]) -> dict[tuple[int, bool], LayoutPoint]:
        """Of each edge and side (True: where it ends at the right) the point at which it meets its box. The points of
        one side of a box are in the order of the neighbours that they lead to."""
        sides: defaultdict[tuple[str, bool], list[tuple[float, int]]] = defaultdict(list)
        for number, chain in self._chains.items():
            arrow, is_turned = self._arrows[number], number in self._turned
            left, right = (arrow.target, arrow.source) if is_turned else (arrow.source, arrow.target)
            sides[left, False].append((chain[1].y, number))
            sides[right, True].append((chain[-2].y, number))
        ports: dict[tuple[int, bool], LayoutPoint] = {}
        for (name, enters), edges in sides.items():
            box = placed[name]
            step = min(18.0, box.height / (len(edges) + 1))
            first = box.y - step * (len(edges) - 1) / 2
            x = box.x - box.width / 2 if enters else box.x + box.width / 2
            for at, (_, number) in enumerate(sorted(edges)):
                ports[number, enters] = LayoutPoint(x, first + at * step)
        return ports

    def _arrow(
        self, number: int, placed: dict[str, PlacedBox], ports: dict[tuple[int, bool], LayoutPoint]
    ) -> PlacedArrow:
        arrow = self._arrows[number]
        if arrow.source == arrow.target:
            return self._loop(number, placed[arrow.source])
        chain, is_turned = self._chains[number], number in self._turned
        start, end = ports[number, False], ports[number, True]
        points = [start, LayoutPoint(self._rights[chain[0].layer], start.y)]
        for place in chain[1:-1]:
            points += [LayoutPoint(self._lefts[place.layer], place.y), LayoutPoint(self._rights[place.layer], place.y)]
        points += [LayoutPoint(self._lefts[chain[-1].layer], end.y), end]
        labelled = chain[-2] if is_turned else chain[1]
        label = LayoutPoint(self._middle(labelled), labelled.y) if arrow.height else None
        kind = ArrowKind.BACK if is_turned else ArrowKind.FORWARD
        return PlacedArrow(number, kind, tuple(reversed(points) if is_turned else points), label)

    def _loop(self, number: int, box: PlacedBox) -> PlacedArrow:
        """A curve above the box; several loops of one box are one above the other."""
        loops = self._loops[box.name]
        rank = loops.index(number)
        lower = sum(_LOOP_RISE + self._arrows[n].height for n in loops[:rank])
        arrow, top = self._arrows[number], box.y - box.height / 2
        half = min(_LOOP_WIDTH / 2 + 4.0 * rank, box.width / 2)
        # A curve reaches three quarters of the way to its control points.
        rise = (lower + _LOOP_RISE - 6.0) * 4 / 3
        points = (
            LayoutPoint(box.x + half, top),
            LayoutPoint(box.x + half + 6, top - rise),
            LayoutPoint(box.x - half - 6, top - rise),
            LayoutPoint(box.x - half, top),
        )
        label = LayoutPoint(box.x, top - lower - _LOOP_RISE - arrow.height / 2) if arrow.height else None
        return PlacedArrow(number, ArrowKind.LOOP, points, label)


def _barycentre(place: _LayoutPlace, neighbours: Sequence[_LayoutPlace], rank: dict[_LayoutPlace, float]) -> float:
    """The mean rank of the neighbours; without any a place stays where it is."""
    return sum(rank[n] for n in neighbours) / len(neighbours) if neighbours else rank[place]


def _align(layer: Sequence[_LayoutPlace]) -> float:
    """Move the places of a layer as near to their neighbours as their order and their distances allow; return the
    farthest move."""
    offsets, at = [], 0.0
    for number, place in enumerate(layer):
        at += layer[number - 1].below + PLACE_GAP + place.above if number else 0.0
        offsets.append(at)
    wanted, weights = [], []
    for place, offset in zip(layer, offsets, strict=True):
        ties = [(n.y, _tie(place, n)) for n in (*place.before, *place.after)]
        weight = sum(tie for _, tie in ties)
        wanted.append((sum(y * tie for y, tie in ties) / weight if ties else place.y) - offset)
        weights.append(weight or _TO_BOX)
    moved = 0.0
    for place, height, offset in zip(layer, _isotonic(wanted, weights), offsets, strict=True):
        moved = max(moved, abs(place.y - height - offset))
        place.y = height + offset
    return moved


def _tie(place: _LayoutPlace, neighbour: _LayoutPlace) -> float:
    """The weight with which a neighbour draws a place to its line."""
    return min(place.pull, neighbour.pull) * (_TO_BOX if place.is_box or neighbour.is_box else _STRAIGHT)


def _isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The rising sequence nearest to the values, by pooling adjacent violators.

    >>> _isotonic([1.0, 3.0, 2.0, 5.0], [1.0] * 4)
    [1.0, 2.5, 2.5, 5.0]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (high, above, first), (low, below, second) = pools[-2:]
            total = above + below
            pools[-2:] = [((high * above + low * below) / total, total, first + second)]
    return [value for value, _, count in pools for _ in range(count)]
