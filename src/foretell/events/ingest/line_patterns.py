"""Patterns of lines: regular expressions with named groups, the built-in ones, and which of them fit a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from foretell.errors import InputError, suggestion
from foretell.events.arrow_compute import pc
from foretell.events.ingest.raw_columns import ArrowArray

_OLD_TIME = r"[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
_ISO_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_QUOTED = r'(?:[^"\\]|\\.)*'
_ACCESS = (
    r"^(?P<client>\S+) (?:-|(?P<ident>\S+)) (?:-|(?P<user>\S+)) \[(?P<time>[^\]]+)\] "
    rf'"(?:(?P<method>[A-Z]+) (?P<path>\S+)(?: (?P<protocol>[A-Z]+/[0-9.]+))?|(?P<request>{_QUOTED}))" '
    r"(?P<status>[0-9]{3}) (?:-|(?P<size>[0-9]+))"
    rf'(?: "(?:-|(?P<referrer>{_QUOTED}))" "(?:-|(?P<agent>{_QUOTED}))")?'
)

#: The built-in patterns by their names.
BUILT_IN: Mapping[str, str] = {
    "apache": _ACCESS,
    "nginx": _ACCESS,
    "apache-error": (
        r"^\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:.]+ [0-9]{4})\] \[(?:(?P<module>[^:\]]*):)?"
        r"(?P<level>[^\]]*)\](?: \[pid (?P<pid>[0-9]+)(?::tid [0-9]+)?\])?(?: \[client (?P<client>[^\]]+)\])? "
        r"(?P<message>.*)$"
    ),
    "nginx-error": (
        r"^(?P<time>[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}) \[(?P<level>[a-z]+)\] (?P<pid>[0-9]+)#(?P<thread>[0-9]+): "
        r"(?:\*(?P<connection>[0-9]+) )?(?P<message>.*)$"
    ),
    "syslog": (
        rf"^(?:<(?P<priority>[0-9]{{1,3}})>)?(?P<time>{_OLD_TIME}|{_ISO_TIME}) (?P<host>\S+) "
        r"(?:(?P<program>[^\s\[:]+)(?:\[(?P<pid>[0-9]+)\])?: )?(?P<message>.*)$"
    ),
    "syslog5424": (
        rf"^<(?P<priority>[0-9]{{1,3}})>[0-9]+ (?:-|(?P<time>{_ISO_TIME})) (?:-|(?P<host>\S+)) (?:-|(?P<program>\S+)) "
        r"(?:-|(?P<pid>\S+)) (?:-|(?P<message_id>\S+)) "
        r'(?:-|(?P<data>(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+))(?: (?P<message>.*))?$'
    ),
}
#: Of several that fit, the first is suggested.
_SUGGESTED = ("apache", "syslog5424", "syslog", "apache-error", "nginx-error")


@dataclass(frozen=True)
class LinePattern:
    """A pattern that is searched in each line; its named groups are the columns."""

    expression: re.Pattern[str]
    #: Arrow's regular expressions know no look-around; with such a pattern lines are matched one by one.
    by_arrow: bool

    @property
    def names(self) -> list[str]:
        return sorted(self.expression.groupindex, key=self.expression.groupindex.__getitem__)

    def matches(self, lines: ArrowArray) -> ArrowArray:
        """A struct of the groups for each line, NULL where the line does not match. A group that took no part in the
        match, or matched nothing, is empty."""
        if self.by_arrow:
            return pc.extract_regex(lines, self.expression.pattern)
        found = (None if line is None else self.expression.search(line) for line in lines.to_pylist())
        rows = [None if match is None else match.groupdict(default="") for match in found]
        return pa.array(rows, pa.struct([(name, pa.string()) for name in self.names]))


@cache
def line_pattern(text: str) -> LinePattern:
    """The pattern of a read option: the name of a built-in one, or a regular expression."""
    try:
        expression = re.compile(BUILT_IN.get(text, text))
    except re.error as error:
        raise InputError("bad-pattern", f"the pattern {text!r} is no regular expression: {error}") from None
    if not expression.groupindex:
        near = suggestion(text, BUILT_IN) if re.fullmatch(r"[\w-]+", text) else ""
        hint = near or r"name the parts of a line: (?P<time>\S+ \S+) (?P<level>\w+) (?P<message>.*)"
        raise InputError("bad-pattern", f"the pattern {text!r} has no named groups", hint=hint)
    return LinePattern(expression, _known_to_arrow(expression.pattern))


def _known_to_arrow(pattern: str) -> bool:
    try:
        pc.extract_regex(pa.array([""], pa.string()), pattern)
    except pa.ArrowInvalid:
        return False
    return True


def fitting_pattern(lines: Iterable[str]) -> str | None:
    """The built-in pattern that matches most of these lines, and at least half."""
    texts = [line for line in lines if line.strip()]
    counts = {name: sum(bool(re.search(BUILT_IN[name], line)) for line in texts) for name in _SUGGESTED}
    best = max(_SUGGESTED, key=counts.__getitem__)
    return best if texts and counts[best] * 2 >= len(texts) else None
