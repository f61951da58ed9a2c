"""The lines of a statement: where they break, their indentation, and what is aligned in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foretell.language.layout.placed_tokens import STREAM_CLAUSES, PlacedToken, placed_tokens
from foretell.language.layout.source_tokens import SourceToken

#: The column that lines do not go beyond where they can break before it.
WIDTH = 100
#: The content of a clause begins behind its keyword: `MATCH  a`, `DEFINE a`.
_MARGIN = 7
_STEP = 4
_STREAM_STEP = 2
#: Clauses that begin a line in any case; the others do where the text has them so.
_OWN_LINE = frozenset(["MATCH", "DO", "DEFINE", "WITHIN", "HAVING", "AFTER", "RETURN", "FORECAST", "LOSING"])
_PADDED = frozenset(["PER", "FROM", "MATCH", "DO"])
#: In these an item goes on one step farther to the right than it begins.
_LISTS = frozenset(("DEFINE", "LET"))
#: How often breaking lines may make others too long.
_ROUNDS = 8


def statement_lines(tokens: list[SourceToken]) -> list[str]:
    """The lines of a statement, without the comments before it."""
    placed = placed_tokens(tokens)
    breaks = _Breaks(placed)
    lines = _divided(placed, breaks)
    for _ in range(_ROUNDS):
        _align(lines)
        if not breaks.shorten(lines):
            break
        lines = _divided(placed, breaks)
    _align(lines)
    return list(_with_comments(lines))


@dataclass
class _Line:
    indent: int
    tokens: list[PlacedToken]

    def text(self) -> str:
        return " " * self.indent + "".join(_texts(self.tokens))

    @property
    def comments(self) -> list[str]:
        """The comments before it, on lines of their own."""
        return [comment for comment in self.tokens[0].source.comments if comment]

    @property
    def comment(self) -> str:
        """The comment that ends it."""
        return self.tokens[-1].source.comment

    @property
    def ends_alignment(self) -> bool:
        """Whether its comment is not aligned with that of the line before."""
        return not self.comment or bool(self.comments)

    @property
    def begins_definition(self) -> bool:
        first = self.tokens[0]
        return first.clause == "DEFINE" and (first.begins_clause or first.role == "definition")

    @property
    def declares(self) -> bool:
        """Whether it is the line of one attribute of STREAM."""
        return self.tokens[0].brackets == 1 and self.tokens[0].clause == "" and len(self.tokens) in (2, 3)


def _texts(tokens: Sequence[PlacedToken]) -> list[str]:
    """The texts of the tokens of a line, each with the space before it."""
    texts = [f"{'' if token.touches else ' '}{' ' * token.padding}{token.text}" for token in tokens]
    first = tokens[0]
    texts[0] = first.text
    if first.begins_clause and first.clause in _PADDED and len(tokens) > 1:
        texts[0] = first.text.ljust(_MARGIN - 1)
    return texts


class _Breaks:
    """Decides which tokens begin a line."""

    def __init__(self, placed: Sequence[PlacedToken]) -> None:
        self._chosen: set[int] = set()
        definitions = [token for token in placed if token.clause == "DEFINE" and token.role == "definition"]
        self._definitions_apart = any(token.source.starts_line for token in definitions)
        self._attributes_apart = any(
            token.source.starts_line and before.opens and token.clause == "" for before, token in _pairs(placed)
        )

    def before(self, token: PlacedToken, previous: PlacedToken) -> bool:
        if previous.source.comment or token.source.comments or id(token) in self._chosen:
            return True
        if token.begins_clause and token.clause in _OWN_LINE:
            return True
        if token.role == "definition":
            return self._definitions_apart
        if token.clause == "" and (token.brackets or token.closes) and self._attributes_apart:
            return token.role == "item" or previous.opens or token.closes
        return token.may_break and token.source.starts_line and not previous.begins_clause

    def shorten(self, lines: Sequence[_Line]) -> bool:
        """Breaks the lines that are too long, where they can break; returns whether there were any."""
        found = False
        for line in lines:
            if len(line.text()) > WIDTH:
                found |= self._shorten(line)
        return found

    def _shorten(self, line: _Line) -> bool:
        if line.tokens[0].clause == "" and any(token.clause == "" and token.role == "item" for token in line.tokens):
            changed, self._attributes_apart = not self._attributes_apart, True
            return changed
        if not self._definitions_apart and any(token.role == "definition" for token in line.tokens[1:]):
            self._definitions_apart = True
            return True
        places = [token for token in line.tokens[1:] if token.role and token.may_break]
        outermost = min((token.brackets for token in places), default=0)
        chosen = self._chosen_places(line, [token for token in places if token.brackets == outermost])
        self._chosen.update(map(id, chosen))
        return bool(chosen)

    def _chosen_places(self, line: _Line, places: Sequence[PlacedToken]) -> list[PlacedToken]:
        """The places at which a line breaks so that its parts are as long as they may be."""
        open_to = set(map(id, places))
        chosen: list[PlacedToken] = []
        latest: PlacedToken | None = None
        width, since_latest = line.indent, 0
        for token, text in zip(line.tokens, _texts(line.tokens), strict=True):
            if id(token) in open_to:
                latest, since_latest = token, 0
            width, since_latest = width + len(text), since_latest + len(text)
            if width > WIDTH and latest is not None:
                chosen.append(latest)
                width, latest = _MARGIN + _STEP + since_latest, None
        return chosen


def _pairs(placed: Sequence[PlacedToken]) -> Iterator[tuple[PlacedToken, PlacedToken]]:
    return pairwise(placed)


def _divided(placed: Sequence[PlacedToken], breaks: _Breaks) -> list[_Line]:
    lines: list[_Line] = []
    opened: list[int] = []  # for each open bracket the line that it stands in
    for number, token in enumerate(placed):
        token.padding = 0
        if token.closes and opened:
            opened.pop()
        if number == 0 or breaks.before(token, placed[number - 1]):
            lines.append(_Line(_indent(token, len(set(opened))), []))
        lines[-1].tokens.append(token)
        if token.opens:
            opened.append(len(lines))
    return lines


def _indent(token: PlacedToken, open_lines: int) -> int:
    """The indentation of a line that begins with a token; `open_lines` have brackets that are still open."""
    if token.source.type in ("SUBSCRIBE", "STREAM", "CORRELATE", "END"):
        return 0
    if token.clause == "":
        return _STREAM_STEP * open_lines if token.brackets or token.closes else _STEP
    if token.begins_clause:
        return _MARGIN if token.source.type in STREAM_CLAUSES else 0
    listed = token.clause in _LISTS and token.role != "definition" and not (token.closes and open_lines == 0)
    return _MARGIN + _STEP * max(open_lines, int(listed))


def _align(lines: Sequence[_Line]) -> None:
    """Aligns AS in definitions, and the types of attributes, that are one below the other."""
    definitions = [line for line in lines if line.begins_definition]
    _align_at([(line, number) for line in definitions if (number := _as_of(line))])
    _align_at([(line, 1) for line in lines if line.declares])


def _as_of(line: _Line) -> int:
    """The number of the first AS in a line, 0 where it has none."""
    return next((n for n, token in enumerate(line.tokens) if token.source.type == "AS"), 0)


def _align_at(places: Sequence[tuple[_Line, int]]) -> None:
    for line, number in places:
        line.tokens[number].padding = 0
    widths = [line.indent + sum(map(len, _texts(line.tokens)[:number])) for line, number in places]
    for (line, number), width in zip(places, widths, strict=True):
        line.tokens[number].padding = max(widths) - width


def _with_comments(lines: Sequence[_Line]) -> Iterator[str]:
    """The texts of the lines; comments at the ends of lines one below the other are aligned."""
    width, known_to = 0, 0
    for number, line in enumerate(lines):
        if number:
            yield from (f"{' ' * line.indent}{comment}" for comment in line.comments)
        if line.comment and number >= known_to:
            known_to = next((n for n in range(number + 1, len(lines)) if lines[n].ends_alignment), len(lines))
            width = max(len(aligned.text()) for aligned in lines[number:known_to])
        yield f"{line.text().ljust(width)}  {line.comment}" if line.comment else line.text()
