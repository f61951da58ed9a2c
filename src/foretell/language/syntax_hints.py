"""What the grammar expected where it found something else, in words a person uses.

Most wrong texts are right texts of another language, or of this one with a slip. So besides what would fit at the
place, an error says what was probably meant: the tables below are what users of SQL, MATCH_RECOGNIZE, Flink and Esper
write from habit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from foretell.errors import LanguageError, Place, closest, place_at

_STATEMENTS = ("SUBSCRIBE", "STREAM", "CORRELATE")
_CLAUSES = {"DEFINE", "WITHIN", "HAVING", "AFTER", "RETURN", "FORECAST", "LOSING"}
_CORRELATIONS = ("accumulate", "select", "sequential", "do", "fail", "push", "repeat", "persist", "loop", "parallel")
_UNITS = ("us", "ms", "s", "min", "hours", "days", "weeks")
#: What people write for a unit besides the right ones; `m` may be minutes or months.
_OTHER_UNITS = {"m", "hr", "hrs", "ns", "month", "months", "year", "years", "quarter", "quarters"}

_FOLLOWED = "'followed by' is written ';', 'directly followed by' ','"
_COMMENT = "a comment begins with -- and goes to the end of the line"
_SINGLE = "a string stands in straight single quotes: 'text'"
_SIGNS = {
    "==": "equality is written with one '='",
    "=<": "'at most' is written '<='",
    "&&": "write AND in a condition, & between patterns",
    "||": "write OR in a condition, | between patterns",
    "->": _FOLLOWED,
    "=>": f"{_FOLLOWED}; 'at least' is '>='",
    ":=": "equality is written with one '='",
    "//": _COMMENT,
    "/*": _COMMENT,
    "#": _COMMENT,
    "`": 'a name with odd characters stands in double quotes: "name"',
    "‘": _SINGLE,
    "’": _SINGLE,
    "“": _SINGLE,
    "”": _SINGLE,
    "~": "a text is compared with LIKE, '%' standing for anything",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '<>'",
    "−": "write '-'",
    "–": "write '-'",
    "×": "write '*'",
    "\\": "a quote inside a string is written twice: 'it''s'",
}

_BEGIN = "a statement begins SUBSCRIBE name FROM stream MATCH pattern"
_EVERY = "every match is one notification; leave this out"
#: Words of other languages, and what is said here instead.
_HABITS = {
    "SELECT": f"{_BEGIN}; what to hand out comes last, in RETURN",
    "INSERT": f"{_BEGIN}; its result is the stream 'name'",
    "CREATE": "a stream is declared with STREAM name (attribute TYPE, ...) TIME attribute",
    "PATTERN": "the pattern is written MATCH a ; b, without PATTERN",
    "MATCH_RECOGNIZE": "the pattern is written MATCH a ; b, without MATCH_RECOGNIZE (...)",
    "PARTITION": "write PER attribute: it splits the stream, directly before MATCH",
    "GROUP": "write PER attribute: it splits the stream, directly before MATCH",
    "ORDER": "events come in the order of their time; a tie-breaker is said in the STREAM statement: ORDER BY seq",
    "MEASURES": "write RETURN expression AS name, after the pattern",
    "WHERE": "write DEFINE step AS condition, or HAVING condition for the whole match",
    "SUBSET": "name the steps together: DEFINE a, b AS condition",
    "ONE": _EVERY,
    "ALL": _EVERY,
    "JOIN": "FROM a, b merges streams; what belongs together is said with steps and variables",
    "UNION": "FROM a, b merges streams",
    "ROW": "leave out ROW",
    "ROWS": _EVERY,
    "INTERVAL": "write the length of time itself: 5 min",
    "EVERY": "every match is reported anyway; leave it out",
    "UNTIL": "what may not come is written !b: a ; !b ; c",
    "PERMUTE": "any order is written a & b",
    "FOLLOWED": _FOLLOWED,
    "FOLLOWEDBY": _FOLLOWED,
    "THEN": _FOLLOWED,
    "NEXT": "'directly followed by' is written ','",
    "UNLESS": "what may not come is written !b: a ; !b ; c",
    "CASE": "there is no CASE; write two conditions joined by OR, or coalesce(...)",
    "EXISTS": "that a step has an event is written count(step) > 0",
    "ILIKE": "write lower(attribute) LIKE 'text'",
    "FOR": "FOR EACH table stands directly before FROM",
    "LIMIT": "see AFTER MATCH for fewer matches",
}
#: Words that mean something else between patterns than in conditions.
_BETWEEN_PATTERNS = {
    "AND": "both in any order is written a & b",
    "OR": "either is written a | b",
    "NOT": "what may not come is written !b: a ; !b ; c",
}
#: Taken for a name where a name may stand, such words are still most likely not meant as one.
_NO_NAMES = {
    *_STATEMENTS,
    *_CLAUSES,
    *("FROM", "PER", "MATCH", "AS", "DO", "ABOVE", "NOT", "AND", "OR", "LIKE", "BETWEEN"),
    *("SELECT", "PATTERN", "PARTITION", "MEASURES", "EVERY", "PERMUTE", "CASE", "WHERE"),
}

_WORDS = {
    "QUOTED": "",
    "STRING": "a string in single quotes",
    "END": "the end of the statement",
    "LATER": "';'",
    "$END": "the end of the text",
    "UNIT": "a unit such as min",
    "COMPARISON": "a comparison",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "DOT": "'.'",
    "AT": "'@'",
    "BANG": "'!'",
    "VBAR": "'|'",
    "AMPERSAND": "'&'",
    "STAR": "'*'",
    "LESSTHAN": "",
    "MORETHAN": "'>'",
    "ID": "ID",
    "FOR": "FOR EACH",
    "ORDER": "ORDER BY",
    "LATE": "LATE BY",
}
#: What a name is the name of, by the word before it.
_NAMES = {
    "FROM": "a stream",
    "PER": "an attribute",
    "TIME": "the attribute that is the time",
    "DOT": "an attribute",
    "EACH": "a table",
    "DEFINE": "a step",
    "BANG": "a step",
    "FIRST": "a step",
    "LAST": "a step",
    "OF": "a step",
}
_LENGTH = "a length of time such as 5 min"
#: What a number is, by the word before it.
_NUMBERS = {"WITHIN": _LENGTH, "BY": _LENGTH, "ABOVE": "a probability", "LOSS": "a probability"}
#: Groups of tokens that are one thing to a person: (what tells the group, all that belongs to it, its name).
_GROUPS = (
    (
        {"ACCUMULATE"},
        {"AGAIN", "NAME", "IN", *(c.upper() for c in _CORRELATIONS)},
        "a step or an expression such as accumulate{...}",
    ),
    ({"BANG", "NAME"}, {"BANG", "NAME", "LPAR", "FIRST", "LAST", "LBRACE"}, "a step or a group"),
    ({"LPAR", "NAME"}, {"NAME", "LPAR"}, "a step"),
    (
        {"VBAR", "AMPERSAND"},
        {"VBAR", "AMPERSAND", "LATER", "COMMA", "AT", "QMARK", "STAR", "PLUS", "LBRACE", "LSQB", "LESSTHAN"},
        "an operator",
    ),
    (
        {"OR"},
        {"AND", "OR", "COMPARISON", "PLUS_MINUS", "TIMES", "IN", "BETWEEN", "LIKE", "IS", "NOT", "DOT", "LPAR", "UNIT"},
        "an operator",
    ),
    ({"PLUS_MINUS"}, {"PLUS_MINUS", "TIMES", "DOT", "LPAR", "UNIT", "COMPARISON", "IN", "BETWEEN", "LIKE", "IS"}, ""),
    ({"WITHIN", "HAVING"}, _CLAUSES, "a clause"),
)
#: After these a condition stands, elsewhere any value.
_CONDITION_AFTER = {"AS", "HAVING", "WHEN", "NOT", "AND", "OR", "LBRACE"}
_OPENING = {"LPAR": "RPAR", "LBRACE": "RBRACE", "LSQB": "RSQB"}
_CLOSING = {"RPAR": "(", "RBRACE": "{", "RSQB": "["}
_WORD = re.compile(r"\s*([^\W\d]\w*|;|\S)")


@dataclass(frozen=True)
class _Wrong:
    """What does not fit: the token, those before it, and what would have fitted."""

    token: Token
    before: tuple[Token, ...]
    fitting: frozenset[str]
    rest: str = ""

    @property
    def word(self) -> str:
        return str(self.token).upper()

    def type_before(self, back: int = 1) -> str:
        return self.before[-back].type if len(self.before) >= back else ""

    @property
    def wants_value(self) -> bool:
        return {"NUMBER", "NAME"} <= self.fitting

    @property
    def after_pattern(self) -> bool:
        return {"VBAR", "AMPERSAND"} <= self.fitting

    @property
    def unclosed(self) -> list[Token]:
        """The brackets that are still open."""
        opened: list[Token] = []
        for token in self.before:
            if token.type in _OPENING:
                opened.append(token)
            elif opened and token.type == _OPENING[opened[-1].type]:
                opened.pop()
        return opened


def unexpected(error: UnexpectedInput, text: str, parser: Lark) -> LanguageError:
    """The grammar's complaint as one of ours. `text` is without its comments."""
    before = _read(parser, text)
    if isinstance(error, UnexpectedCharacters):
        token = Token("", error.char, error.pos_in_stream, error.line, error.column)
    else:
        assert isinstance(error, UnexpectedToken)
        token = error.token
    if token.type == "$END":
        return _at_end(_Wrong(token, tuple(before), _fitting(parser, before)), text)
    if token.type == "" and token in ("'", '"'):
        return _unclosed(token, text)
    sign = _sign(text, token.start_pos or 0)
    if sign is not None:
        return sign
    rest = text[(token.start_pos or 0) + len(token) :]
    return _found(_blamed(_Wrong(token, tuple(before), _fitting(parser, before), rest), text, parser))


def _read(parser: Lark, text: str) -> list[Token]:
    """The tokens before the one that does not fit."""
    reading = parser.parse_interactive(text)
    tokens: list[Token] = []
    try:
        tokens.extend(reading.iter_parse())
    except UnexpectedToken as error:
        if tokens and tokens[-1] is error.token:
            tokens.pop()
    except UnexpectedCharacters:
        pass
    return tokens


def _fitting(parser: Lark, before: list[Token]) -> frozenset[str]:
    """What could have come after these tokens."""
    reading = parser.parse_interactive("")
    for token in before:
        reading.feed_token(token)
    return frozenset(reading.accepts())  # type: ignore[no-untyped-call]


def _blamed(wrong: _Wrong, text: str, parser: Lark) -> _Wrong:
    """Where the slip really is: sometimes one word before or after the token that does not fit."""
    token, before = wrong.token, list(wrong.before)
    if token == ";" and "END" in wrong.fitting:
        # It would end the statement, if only another one came next.
        following = _WORD.match(text, (token.start_pos or 0) + 1)
        assert following is not None, "with nothing behind it, it would have been the end"
        return _Wrong(_token_at(text, following.start(1), following[1]), (*before, token), frozenset(_STATEMENTS))
    if not before or before[-1].type != "NAME":
        return wrong
    if token.type == "LBRACE" and "DEFINE" in wrong.fitting:
        return _Wrong(before[-1], tuple(before[:-1]), _fitting(parser, before[:-1]))
    name = str(before[-1]).upper()
    starts = closest(name, _STATEMENTS, 0.8) and wrong.type_before(2) == "LATER"
    if name in _NO_NAMES or starts:
        return _Wrong(before[-1], tuple(before[:-1]), _fitting(parser, before[:-1]))
    return wrong


def _token_at(text: str, start: int, value: str) -> Token:
    place = place_at(text, start, start + len(value))
    return Token("", value, start, place.line, place.column)


def _place(token: Token) -> Place:
    line, column = token.line or 1, token.column or 1
    first, *rest = str(token).split("\n")
    if rest:
        return Place(line, column, len(rest[-1]) + 1, line + len(rest))
    return Place(line, column, column + len(first))


# ── messages ──


def _at_end(wrong: _Wrong, text: str) -> LanguageError:
    lines = text.rstrip().split("\n")
    place = Place(len(lines), len(lines[-1]) + 1, len(lines[-1]) + 2)
    hint = _hint(wrong)
    return LanguageError("unexpected-end", f"the text ends, expected {_describe(wrong)}", place=place, hint=hint)


def _unclosed(quote: Token, text: str) -> LanguageError:
    if text.startswith('""', quote.start_pos):
        place = Place(quote.line or 1, quote.column or 1, (quote.column or 1) + 2)
        message, hint = "a name in double quotes cannot be empty", "an empty string is written ''"
        return LanguageError("unexpected", message, place=place, hint=hint)
    hint = "close the quote; inside a string a quote is written twice: 'it''s'" if quote == "'" else "close the quote"
    return LanguageError(
        "unclosed", f"the quote {quote} is opened here and never closed", place=_place(quote), hint=hint
    )


def _sign(text: str, at: int) -> LanguageError | None:
    """A sign of another language that begins here, or one character before."""
    for start, length in ((at - 1, 2), (at, 2), (at, 1)):
        sign = text[start : start + length] if start >= 0 else ""
        if sign in _SIGNS:
            place = place_at(text, start, start + len(sign))
            return LanguageError("unexpected", f"'{sign}' has no meaning here", place=place, hint=_SIGNS[sign])
    return None


def _found(wrong: _Wrong) -> LanguageError:
    message = f"expected {_describe(wrong)}, found {_quoted(wrong.token)}"
    if _is_unit(wrong):
        message = f"unknown unit '{wrong.token}'"
    return LanguageError("unexpected", message, place=_place(wrong.token), hint=_hint(wrong))


def _quoted(token: Token) -> str:
    shown = str(token).split("\n")[0]
    if len(shown) > 40 or "\n" in token:
        shown = f"{shown[:40]}…"
    if not shown.isprintable():
        return f"the character U+{ord(shown[0]):04X}" if len(shown) == 1 else repr(shown)
    if token.type == "STRING":
        return f"the string {shown}"
    return shown if token.type == "QUOTED" else f"'{shown}'"


def _is_unit(wrong: _Wrong) -> bool:
    """Whether a unit was meant: a word behind the number of WITHIN, or one that is nearly a unit."""
    if wrong.type_before() != "NUMBER" or "UNIT" not in wrong.fitting or not wrong.token.isalpha():
        return False
    if wrong.word in ("EVENTS", *_STATEMENTS, *_CLAUSES, "ABOVE") or closest(wrong.word, wrong.fitting, 0.75):
        return False
    return wrong.type_before(2) in ("WITHIN", "BY") or wrong.token in _OTHER_UNITS or bool(_unit(wrong.token))


def _unit(word: str) -> str:
    return closest(word, (*_UNITS, "second", "minute", "hour", "day", "week", "seconds", "minutes"), 0.8)


def _describe(wrong: _Wrong) -> str:
    """A short list of what would fit."""
    fitting = set(wrong.fitting)
    if {"STRING", "NUMBER", "LPAR"} <= fitting:
        in_at = wrong.type_before() == "LPAR" and wrong.type_before(2) == "AT"
        return "a condition" if in_at or wrong.type_before() in _CONDITION_AFTER else "a value"
    groups: list[str] = []
    for sign, members, phrase in _GROUPS:
        if sign <= fitting:
            fitting -= members
            groups += [phrase] if phrase else []
    if fitting & {"END", "SUBSCRIBE"}:
        fitting.discard("$END")
    ends = [_WORDS[e] for e in ("END", "$END") if e in fitting]
    words = [w for name in sorted(fitting - {"END", "$END"}, key=_rank) if (w := _wording(name, wrong))]
    return _listed([*dict.fromkeys(words), *groups, *ends])


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _wording(terminal: str, wrong: _Wrong) -> str:
    if terminal == "NAME":
        # Only in STREAM name (attribute TYPE) does a name follow a name.
        if wrong.type_before() in ("NAME", "QUOTED"):
            return "a type"
        return _NAMES.get(wrong.type_before(), "a name")
    if terminal == "NUMBER":
        return _NUMBERS.get(wrong.type_before(), "a number")
    return _WORDS.get(terminal, terminal)


def _rank(terminal: str) -> tuple[int, int, str]:
    """Names and numbers, then keywords as they come in a statement, then signs."""
    order = ("SUBSCRIBE", "STREAM", "CORRELATE", "FROM", "FOR", "MATCH", "DO", "PER", "ID", "ORDER", "TIES", "LATE")
    sign = _WORDS.get(terminal, terminal).startswith("'")
    kind = 0 if terminal in ("NAME", "NUMBER") else 2 if sign else 1
    return kind, order.index(terminal) if terminal in order else len(order), terminal


# ── hints ──


def _hint(wrong: _Wrong) -> str:
    for hint in (_bracket_hint, _neighbour_hint, _word_hint, _clause_hint, _keyword_hint, _comma_hint):
        if found := hint(wrong):
            return found
    return ""


def _bracket_hint(wrong: _Wrong) -> str:
    """Brackets that do not fit together."""
    unclosed = wrong.unclosed
    if wrong.token.type in _CLOSING and not unclosed:
        return f"there is no '{_CLOSING[wrong.token.type]}' before it that it could close"
    ending = wrong.token.type in ("END", "$END", *_CLAUSES, *_STATEMENTS, *_CLOSING)
    if unclosed and ending and not wrong.wants_value:
        opened = unclosed[-1]
        if _OPENING[opened.type] in wrong.fitting:
            return f"the '{opened}' at {opened.line}:{opened.column} is not closed"
    return ""


def _neighbour_hint(wrong: _Wrong) -> str:
    """What the tokens directly before tell."""
    token, before, earlier = wrong.token, wrong.type_before(), wrong.type_before(2)
    last = wrong.before[-1] if wrong.before else Token("", "")
    match before, token.type:
        case "BANG", "LPAR":
            return "only single steps can be absent; for none of several write !a ; !b"
        case "AT", _:
            return "the condition stands in parentheses: a @(condition)"
        case "TO", _ if token.isidentifier():
            return f"write SKIP TO FIRST {token} or SKIP TO LAST {token}"
        case (("PLUS" | "STAR" | "QMARK" | "RBRACE"), ("QMARK" | "PLUS")):
            return "every length that fits is a match; there are no greedy and reluctant repetitions"
        case "LBRACE", "COMMA":
            return "write {0,n} for at most n"
        case "LPAR", _ if token == "*" and earlier == "NAME" and wrong.before[-2].lower() == "count":
            return "count(b) counts the events of the step b"
        case "NUMBER", _ if token == "%" and earlier in ("ABOVE", "LOSING", "LOSS", "COMMA"):
            return "a probability lies between 0 and 1: 0.8, not 80%"
        case "STRING", _ if token.start_pos == last.end_pos:
            return "the string ends before it; inside a string a quote is written twice: 'it''s'"
        case "WITHIN" | "BY", "STRING" if "NUMBER" in wrong.fitting:
            return "leave out the quotes"
        case "TIMESTAMP", "NUMBER":
            return "write it as in TIMESTAMP '2026-01-31 12:00:00'"
        case "RETURN", _ if token == "*":
            return "without RETURN a notification carries the variables and the events of all steps"
        case _, "STRING" if {"NAME", "QUOTED"} >= wrong.fitting:
            return "a name stands without quotes, or in double quotes"
        case _, _ if token == "<" and wrong.after_pattern:
            return "<...> says what a repetition repeats under: a+<;>"
        case "IN", ("STRING" | "NUMBER"):
            return f"the values stand in parentheses: IN ({token}, ...)"
        case "NAME", "LPAR" if earlier in ("NAME", "QUOTED"):
            return "a type has no length: STRING, not VARCHAR(20)"
        case "NUMBER", _ if _is_unit(wrong):
            meant = _unit("min" if token == "m" else token)
            return f"did you mean {meant}?" if meant else f"units are {', '.join(_UNITS)}"
        case "LATER" | "END", _ if token == ";":
            return "one ';' is enough"
    return ""


def _word_hint(wrong: _Wrong) -> str:
    """Words of other languages."""
    word, last = wrong.word, wrong.type_before()
    if word == "BY" and wrong.before:
        return _HABITS.get(wrong.before[-1].upper(), "")
    if wrong.after_pattern or {"BANG", "NAME"} <= wrong.fitting:
        if word in _BETWEEN_PATTERNS:
            return _BETWEEN_PATTERNS[word]
        if wrong.token.type in ("NAME", "QUOTED") and word not in (*_HABITS, *_NO_NAMES) and wrong.after_pattern:
            meant = closest(word, wrong.fitting & _CLAUSES, 0.75)
            signs = "between two steps stands ';' (later), ',' (directly after), '&' (any order) or '|' (either)"
            return f"did you mean {meant}?" if meant else signs
    if word == "EVENTS" and last == "NUMBER":
        return "only FORECAST WITHIN counts events; WITHIN is a length of time such as 5 min"
    if word == "!" and wrong.wants_value:
        return "in a condition write NOT"
    if word in ("$", ":") and wrong.wants_value:
        return "a variable is written $name, a column of a table :name, without a blank"
    if word == "AS" and "MATCH" in wrong.fitting:
        return "a stream has no second name here; steps name events: step.attribute"
    if "ACCUMULATE" in wrong.fitting and wrong.token.isidentifier():
        meant = closest(wrong.token, _CORRELATIONS)
        return f"did you mean {meant}?" if meant else f"there are {', '.join(_CORRELATIONS)} and in"
    return _HABITS.get(word, "")


def _clause_hint(wrong: _Wrong) -> str:
    """A clause that comes too early or too late, or lacks a part."""
    word, last = wrong.word, wrong.type_before()
    clause = word in (*_CLAUSES, "FROM", "PER", "MATCH", "TIME")
    ends = wrong.token.type in ("END", "$END")
    if last in ("COMMA", "LATER") and (clause or ends or wrong.token.type in _CLOSING):
        return f"leave out the '{wrong.before[-1]}' before {'the end' if ends else 'it'}"
    if last in ("END", "LATER") and wrong.fitting == frozenset(_STATEMENTS):
        if clause:
            return "leave out the ';' before it: it ends the statement"
        meant = closest(word, _STATEMENTS, 0.75)
        return f"did you mean {meant}?" if meant else "the ';' before it ends the statement; lists are separated by ','"
    if word in _STATEMENTS and "END" in wrong.fitting:
        return "end the statement before it with ';'"
    if last == "LATER" and (meant := closest(word, _STATEMENTS, 0.8)):
        return f"did you mean {meant}?"
    if "AS" in wrong.fitting and "DEFINE" not in wrong.fitting and not closest(word, ["AS"], 0.8):
        in_return = "OR" in wrong.fitting
        return "every column has a name: RETURN expression AS name" if in_return else "write DEFINE step AS condition"
    return ""


def _comma_hint(wrong: _Wrong) -> str:
    if "COMMA" not in wrong.fitting or wrong.after_pattern or wrong.token.type not in ("NAME", "QUOTED"):
        return ""
    if "AS" in wrong.fitting or ("OR" in wrong.fitting and not re.match(r"\s*(,|AS\b)", wrong.rest, re.IGNORECASE)):
        return ""
    return "is a ',' missing before it?"


def _keyword_hint(wrong: _Wrong) -> str:
    """A keyword misspelt, or meant as a name."""
    keywords = {
        f for f in wrong.fitting if f.isalpha() and f not in ("NAME", "NUMBER", "STRING", "END", "LATER", "UNIT")
    }
    if wrong.token.isidentifier() and (meant := closest(wrong.token, keywords, 0.7)):
        return f"did you mean {meant}?"
    if wrong.token.type == "QUOTED" and "STRING" in wrong.fitting:
        return "a string stands in single quotes"
    if len(wrong.token) == 1 and not wrong.token.isprintable():
        return "delete this invisible character"
    if wrong.type_before() in ("TIMESTAMP", "FIRST", "LAST") and wrong.token.type not in ("BANG", "$END"):
        return f'a name that is also a keyword stands in double quotes: "{wrong.before[-1]}"'
    return ""
