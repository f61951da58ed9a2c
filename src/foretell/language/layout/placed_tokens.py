"""Spacing: which tokens of a statement touch, where lines may break, and how words are written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from foretell.language.layout.source_tokens import SourceToken

_NAMES = ("NAME", "QUOTED")
_OPENING = {"LPAR": "group", "LBRACE": "braces", "LSQB": "index", "LESSTHAN": "under"}
#: Brackets of a pattern within which no steps stand.
_IN_STEPS = ("condition", "where", "braces", "index")
_CLOSING = ("RPAR", "RBRACE", "RSQB", "MORETHAN")
_QUANTIFIERS = ("PLUS", "STAR", "QMARK", "LBRACE", "LSQB")
STREAM_CLAUSES = frozenset(["TIME", "ID", "ORDER", "TIES", "LATE", "LOSS", "NULL", "LET"])
CLAUSES = frozenset(
    ["PER", "FOR", "FROM", "MATCH", "DO", "DEFINE", "WITHIN", "HAVING", "AFTER", "RETURN", "FORECAST", "LOSING"]
)
#: After these a clause of STREAM may begin; elsewhere NULL is the value, and the others may be names.
BEFORE_STREAM_CLAUSE = frozenset(
    ["NAME", "QUOTED", "NUMBER", "UNIT", "STRING", "RPAR", "SIMULTANEOUS", "CASE_END", "TRUE", "FALSE", "NULL"]
)
#: The keywords of correlators are written in small letters, as in the paper.
_CONSTRUCTIONS = frozenset(
    ["ACCUMULATE", "SELECT", "SEQUENTIAL", "DO", "UNLESS", "FAIL", "PUSH", "AGAIN", "PARALLEL", "IN"]
)
_NO_KEYWORDS = frozenset((*_NAMES, "STRING", "NUMBER", "VARIABLE", "PARAMETER"))
#: Nothing stands between these and the next token.
_TOUCHING = frozenset(("DOT", "BANG", "AT", "MINUS", "LPAR", "LBRACE", "LSQB"))


@dataclass
class PlacedToken:
    """A token with its place in the statement.

    `touches`: there is no space before it. `clause` is the keyword of its clause, which it may begin itself. `brackets`
    counts those that are open before it, `in_pattern` says whether it stands among the steps of a pattern. `role` says
    why a line may break before it: "definition" where a definition of DEFINE begins, "item" behind another comma,
    "condition" at AND and OR, "operator" behind an operator of a pattern.
    `padding` is the number of spaces that align it with the lines around.
    """

    source: SourceToken
    text: str
    touches: bool
    may_break: bool
    clause: str
    begins_clause: bool
    brackets: int
    in_pattern: bool
    role: str
    padding: int = 0

    @property
    def opens(self) -> bool:
        return self.source.type in ("LPAR", "LBRACE")

    @property
    def closes(self) -> bool:
        return self.source.type in ("RPAR", "RBRACE")


def placed_tokens(tokens: list[SourceToken]) -> list[PlacedToken]:
    """The tokens of one statement, each with its place."""
    scan = StatementScan(tokens[0].type)
    return [scan.place(token) for token in tokens]


class StatementScan:
    """Goes through the tokens of a statement once, with the brackets that are open.

    `clause` is the keyword of the clause after the latest token, `last` the type of that token, and `in_condition`
    whether a definition of DEFINE has had its AS.
    """

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.clause = ""
        self.last = ""
        self._brackets: list[str] = []
        self._open = Counter[str]()  # how many brackets of each kind are open
        self._role = ""
        self.in_condition = False  # the AS of a definition has come
        self._does = False  # the DO of a correlator has come
        self._forecasts = False  # FORECAST has come, and not yet its WITHIN
        self._betweens: list[int] = []  # the brackets at each BETWEEN whose AND has not come

    def place(self, token: SourceToken) -> PlacedToken:
        begins = self._begins_clause(token.type)
        if begins:
            self.clause = token.type
        if token.type in _CLOSING and self._brackets:
            self._open[self._brackets.pop()] -= 1
        touches = self._touches(token.type)
        placed = PlacedToken(
            source=token,
            text=self._written(token),
            touches=touches,
            may_break=not touches or self._bracket_breaks(token.type),
            clause=self.clause,
            begins_clause=begins,
            brackets=len(self._brackets),
            in_pattern=self.in_pattern,
            role=self._break_role(token.type),
        )
        self._go_on(token.type)
        return placed

    @property
    def open_brackets(self) -> int:
        return len(self._brackets)

    def _go_on(self, kind: str) -> None:
        self._role = ""
        if kind == "COMMA" and not self.in_pattern:
            self._role = self._list_role()
        elif self.in_pattern and kind in ("LATER", "COMMA", "VBAR", "AMPERSAND"):
            self._role = "operator"
        self.in_condition = (self.in_condition or kind == "AS") and self._role != "definition" and kind != "DEFINE"
        self._does |= kind == "DO"
        self._forecasts = kind == "FORECAST" or (self._forecasts and kind != "WITHIN")
        if kind == "BETWEEN":
            self._betweens.append(len(self._brackets))
        elif kind == "AND" and self._betweens[-1:] == [len(self._brackets)]:
            self._betweens.pop()
        if kind in _OPENING:
            self._brackets.append(self._bracket(kind))
            self._open[self._brackets[-1]] += 1
        self.last = kind

    def _list_role(self) -> str:
        if self.clause != "DEFINE" or self._brackets:
            return "item"
        return "definition" if self.in_condition else ""  # else between two steps of one definition

    def _begins_clause(self, kind: str) -> bool:
        if self._brackets or not self.last:
            return False
        if self.statement == "STREAM":
            return kind in STREAM_CLAUSES and self.last in BEFORE_STREAM_CLAUSE
        if kind not in CLAUSES or (kind == "MATCH" and self.last == "AFTER") or (kind == "WITHIN" and self._forecasts):
            return False
        return not (kind == "DO" and self._does)

    def _bracket(self, kind: str) -> str:
        if kind == "LBRACE" and self.last == "LATER":
            return "where"
        return "condition" if self.last == "AT" else _OPENING[kind]

    @property
    def in_pattern(self) -> bool:
        """Whether operators between steps may stand here."""
        return self.clause == "MATCH" and not any(map(self._open.get, _IN_STEPS))

    @property
    def _in_correlation(self) -> bool:
        return self.clause == "DO"

    def _written(self, token: SourceToken) -> str:
        if token.type == "NAME" and self.statement == "STREAM" and not self.clause and self.last in _NAMES:
            return token.text.upper()  # the type of an attribute
        if token.type == "UNIT" or (self._in_correlation and token.type in _CONSTRUCTIONS and self._does):
            return token.text.lower()
        return token.text if token.type in _NO_KEYWORDS else token.text.upper()

    def _break_role(self, kind: str) -> str:
        if self._role or kind not in ("AND", "OR"):
            return self._role
        return "" if kind == "AND" and self._betweens[-1:] == [len(self._brackets)] else "condition"

    def _touches(self, kind: str) -> bool:
        if not self.last or self.last in _TOUCHING or kind in ("END", "DOT", *_CLOSING):
            return True
        if self._open["under"] or kind == "LESSTHAN" or (self.clause == "MATCH" and self._open["braces"]):
            return True
        if kind == "COMMA":
            return not self.in_pattern
        if self._in_correlation:
            return kind in ("LBRACE", "LPAR", "STAR")
        if self.in_pattern:
            return kind in _QUANTIFIERS
        # A `(` behind a name is that of a call, but for the attributes of STREAM.
        return kind == "LPAR" and self.last in _NAMES and bool(self.clause)

    def _bracket_breaks(self, kind: str) -> bool:
        """Whether a line may break between a bracket and its content, not so in `b{2,3}` and `a[2]`."""
        if self._open["under"] or kind == "NUMBER" or self.last == "NUMBER":
            return False
        return self.last in ("LPAR", "LBRACE") or kind in ("RPAR", "RBRACE")
