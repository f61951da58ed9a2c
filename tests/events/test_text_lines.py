"""Lines of text by patterns with named groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.errors import InputError
from foretell.events.ingest.line_patterns import BUILT_IN, line_pattern
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.ingest.text_lines import read_text_lines
from foretell.events.types import Type

SYSLOG = """\
Mar  1 10:00:00 web sshd[123]: Failed password for root from 10.0.0.1 port 22 ssh2
Mar  1 10:00:01 web kernel: [12.3] link is up
    at java.base/java.lang.Thread.run
Mar 11 10:00:02 web last message repeated 3 times

<13>2024-03-12T10:00:03.5+01:00 web CRON[7]: job
"""
ACCESS = """\
10.0.0.1 - frank [01/Mar/2024:10:00:00 +0100] "GET /a.gif HTTP/1.1" 200 2326
10.0.0.2 - - [01/Mar/2024:10:00:01 +0100] "GET / HTTP/1.1" 304 - "http://x/" "Mozilla \\"5\\""
10.0.0.3 - - [01/Mar/2024:10:00:02 +0100] "\\x16\\x03" 400 226 "-" "-"
"""
NGINX_ERROR = """\
2024/03/01 10:00:00 [error] 123#7: *5 open() "/x" failed
2024/03/01 10:00:01 [notice] 1#1: start
"""
APACHE_ERROR = """\
[Fri Mar 01 10:00:00.5 2024] [core:error] [pid 123] [client 10.0.0.1:55] AH00126: Invalid URI
[Fri Mar  1 10:00:01 2024] [notice] Digest: done
"""
SYSLOG5424 = """\
<34>1 2024-03-01T10:00:00.003Z web su - ID47 - 'su root' failed
<165>1 2024-03-01T10:00:01Z - - 12 - [a@1 b="]"][c d="e"]
"""


def load(folder: Path, text: str | bytes, pattern: str | None, **declared: Type) -> EventBatch:
    path = folder / "web.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    options = ReadOptions(pattern=pattern, year=2024)
    return read(path, StreamDeclaration("web", declared, "time", open=not declared, read=options))


def raised(folder: Path, text: str, pattern: str | None) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, text, pattern)
    return str(caught.value).replace(f"{folder}/", "")


def rows(batch: EventBatch) -> list[dict[str, object]]:
    times = batch.table["time"].to_pylist()
    return [row | {"time": f"{time:%d %H:%M:%S}"} for row, time in zip(batch.table.to_pylist(), times, strict=True)]


def test_syslog(tmp_path: Path) -> None:
    batch = load(tmp_path, SYSLOG, "syslog")
    assert rows(batch) == [
        {
            "priority": priority,
            "time": time,
            "host": "web",
            "program": program,
            "pid": pid,
            "message": message,
        }
        for priority, time, program, pid, message in [
            (None, "01 10:00:00", "sshd", 123, "Failed password for root from 10.0.0.1 port 22 ssh2"),
            (None, "01 10:00:01", "kernel", None, "[12.3] link is up"),
            (None, "11 10:00:02", None, None, "last message repeated 3 times"),
            (13, "12 09:00:03", "CRON", 7, "job"),
        ]
    ]
    (bad,) = batch.quarantined
    assert (bad.row, bad.reason) == (3, "does not match the pattern")
    assert bad.raw == "    at java.base/java.lang.Thread.run"
    assert batch.total == 5


@pytest.mark.parametrize("pattern", ["apache", "nginx"])
def test_access_logs(tmp_path: Path, pattern: str) -> None:
    batch = load(tmp_path, ACCESS, pattern)
    assert rows(batch)[0] == {
        "client": "10.0.0.1",
        "ident": None,
        "user": "frank",
        "time": "01 09:00:00",
        "method": "GET",
        "path": "/a.gif",
        "protocol": "HTTP/1.1",
        "request": None,
        "status": 200,
        "size": 2326,
        "referrer": None,
        "agent": None,
    }
    assert batch.table["agent"].to_pylist() == [None, r"Mozilla \"5\"", None]
    assert batch.table["size"].to_pylist() == [2326, None, 226]
    assert batch.table["request"].to_pylist() == [None, None, r"\x16\x03"]


def test_error_logs(tmp_path: Path) -> None:
    batch = load(tmp_path, NGINX_ERROR, "nginx-error")
    assert batch.table["connection"].to_pylist() == [5, None]
    assert batch.table["message"].to_pylist() == ['open() "/x" failed', "start"]
    batch = load(tmp_path, APACHE_ERROR, "apache-error")
    assert batch.table["module"].to_pylist() == ["core", None]
    assert batch.table["level"].to_pylist() == ["error", "notice"]
    assert [row["time"] for row in rows(batch)] == ["01 10:00:00", "01 10:00:01"]


def test_syslog_of_rfc_5424(tmp_path: Path) -> None:
    batch = load(tmp_path, SYSLOG5424, "syslog5424")
    assert batch.table["message"].to_pylist() == ["'su root' failed", None]
    assert batch.table["data"].to_pylist() == [None, '[a@1 b="]"][c d="e"]']
    assert batch.table["pid"].to_pylist() == [None, 12]


def test_a_pattern_of_the_user(tmp_path: Path) -> None:
    text = b"#1 10:00 up\r\nnothing\n#2 10:01 down\n#3 10:02 \xff\n"
    batch = load(tmp_path, text, r"#(?P<time>\d+) (?P<clock>\S+) (?P<state>up|down)?")
    assert batch.table.to_pylist() == [
        {"time": 1, "clock": "10:00", "state": "up"},
        {"time": 2, "clock": "10:01", "state": "down"},
    ]
    reasons = [(bad.row, bad.reason, bad.raw) for bad in batch.quarantined]
    assert reasons == [(2, "does not match the pattern", "nothing"), (4, "not UTF-8", "#3 10:02 \ufffd")]


def test_a_pattern_that_only_python_knows(tmp_path: Path) -> None:
    pattern = r"(?<=#)(?P<time>\d+)(?P<rest> .*)?"
    assert not line_pattern(pattern).by_arrow
    batch = load(tmp_path, "#1 x\n2\n#3\n", pattern)
    assert batch.table.to_pylist() == [{"time": 1, "rest": " x"}, {"time": 3, "rest": None}]
    assert [bad.row for bad in batch.quarantined] == [2]


def test_only_declared_groups_are_columns(tmp_path: Path) -> None:
    batch = load(tmp_path, SYSLOG, "syslog", program=Type.STRING, time=Type.TIMESTAMP)
    assert batch.table.column_names == ["program", "time"]


def test_every_built_in_pattern_is_known_to_arrow() -> None:
    assert [name for name in BUILT_IN if not line_pattern(name).by_arrow] == []


def test_pieces_of_a_large_file(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(f"#{n} a\n" if n % 3 else "odd\n" for n in range(100)).encode()
    whole = read_text_lines([("a.log", content)], None, r"#(?P<n>\d+)")
    monkeypatch.setattr("foretell.events.ingest.text_lines.PIECE_BYTES", 10)
    pieces = read_text_lines([("a.log", content)], None, r"#(?P<n>\d+)")
    assert len(pieces.origins) > 10
    assert pieces.columns["n"].texts.to_pylist() == whole.columns["n"].texts.to_pylist()  # type: ignore[attr-defined]
    assert pieces.rejections({}) == whole.rejections({})
    assert [number for origin in pieces.origins for number in origin.numbers] == list(whole.origins[0].numbers)


# ── errors ──


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        (SYSLOG, "syslog"),
        (ACCESS, "apache"),
        (NGINX_ERROR, "nginx-error"),
        (APACHE_ERROR, "apache-error"),
        (SYSLOG5424, "syslog5424"),
    ],
)
def test_a_log_without_a_pattern_suggests_one(tmp_path: Path, text: str, fitting: str) -> None:
    assert raised(tmp_path, text, None) == (
        "web.log: lines of text need a pattern\n"
        f"  hint: its first lines fit the built-in pattern '{fitting}': --pattern {fitting}, "
        f"ReadOptions(pattern='{fitting}')"
    )


def test_a_log_that_fits_no_built_in_pattern(tmp_path: Path) -> None:
    assert raised(tmp_path, "one\ntwo\n", None) == (
        "web.log: lines of text need a pattern\n"
        r"  hint: name the parts of a line: --pattern '(?P<time>\S+ \S+) (?P<level>\w+) (?P<message>.*)'"
    )


def test_a_log_of_which_no_line_matches(tmp_path: Path) -> None:
    assert raised(tmp_path, "\none\n", "syslog") == "web.log: no line matches the pattern; the first is 'one'"
    assert raised(tmp_path, ACCESS, "syslog") == (
        "web.log: no line matches the pattern; "
        "the first is '10.0.0.1 - frank [01/Mar/2024:10:00:00 +0100] \"GET /a.gif H…'\n"
        "  hint: its first lines fit the built-in pattern 'apache'"
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("sislog", "the pattern 'sislog' has no named groups\n  hint: did you mean 'syslog'?"),
        (
            r"\d+ (.*)",
            r"the pattern '\\d+ (.*)' has no named groups"
            "\n"
            r"  hint: name the parts of a line: (?P<time>\S+ \S+) (?P<level>\w+) (?P<message>.*)",
        ),
        ("(?P<a", "the pattern '(?P<a' is no regular expression: missing >, unterminated name at position 4"),
    ],
)
def test_patterns_that_are_none(tmp_path: Path, pattern: str, message: str) -> None:
    assert raised(tmp_path, SYSLOG, pattern) == message


def test_an_empty_log_has_no_events(tmp_path: Path) -> None:
    assert load(tmp_path, "\n  \n", "syslog").total == 0
