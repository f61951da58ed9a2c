"""The page of matches and estimates: which it shows, and that it needs no network and runs no text of an event."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import foretell as ft
from foretell.charts.notification_page import NotificationPage
from foretell.events.estimate_detail import EstimateDetail, GapFactor, LostStep
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify.lazy_notifications import LazyNotifications
from foretell.notify.notifications import Notifications
from tests.charts.browser import OPTIONS, executable

EVIL = "</script><img src=x onerror=alert(1)>"

STATEMENTS = """
    STREAM s (k STRING, time INT) TIME time;
    SUBSCRIBE lost FROM s MATCH x ; !y ; z WITHIN 100 LOSING 0.1 ABOVE 0.3;
    SUBSCRIBE plain FROM s PER k MATCH a , b;
"""

CERTAIN = STATEMENTS.replace("LOSING 0.1 ABOVE 0.3", "")


def estimate(number: int, probability: float = 0.5, **more: object) -> Notification:
    detail = EstimateDetail("both ends", (LostStep("x", 1, 3),), (GapFactor(None, "z", probability),))
    found = Notification(
        "lost", "estimate", None, 5, 5, probability, None, f"id{number}",
        bindings={}, events={"x": None, "z": number}, time_type=Type.INT, estimate=detail,
    )  # fmt: skip
    return replace(found, **more)  # type: ignore[arg-type]


def match(number: int) -> Notification:
    return replace(estimate(number), subscription="plain", kind="match", probability=1.0, id=None, estimate=None)


def page_of(*notifications: Notification, most: int = 50) -> str:
    page = NotificationPage(most)
    page.describe(ft.parse(STATEMENTS).checked().statements)
    page.write(notifications)
    return page.html()


def listed_rows(text: str) -> list[list[str]]:
    """The cells of the table's rows."""
    rows = re.findall(r"<tr>(<td>.*)</tr>", text)
    return [re.findall(r"<td>(?:<a[^>]*>)?(.*?)(?:</a>)?</td>", row) for row in rows]


def test_the_most_probable_estimates_come_first_then_matches() -> None:
    text = page_of(match(1), estimate(2, 0.4), estimate(3, 0.9), match(4), estimate(5, 0.6), most=3)
    assert [row[:4] for row in listed_rows(text)] == [
        ["1", "lost", "estimate", "0.9"],
        ["2", "lost", "estimate", "0.6"],
        ["3", "lost", "estimate", "0.4"],
    ]
    assert "The page shows all of 3 estimates and none of 2 matches." in text
    text = page_of(match(1), estimate(2, 0.4), estimate(3, 0.9), match(4), most=2)
    assert [row[3] for row in listed_rows(text)] == ["0.9", "0.4"]
    text = page_of(*(estimate(n, n / 100) for n in range(40, 90)), most=3)
    assert [row[3] for row in listed_rows(text)] == ["0.89", "0.88", "0.87"]
    assert "the 3 most probable of 50 estimates" in text


def test_equal_probabilities_are_in_their_order() -> None:
    page = NotificationPage(2)
    for number in range(4):
        page.write([estimate(number, start=number)])
    assert [row[5] for row in listed_rows(page.html())] == ["0", "1"]


def test_an_estimate_that_was_taken_back_says_so() -> None:
    taken_back = replace(estimate(1), kind="withdrawn", probability=0.0, end=9, estimate=None)
    text = page_of(estimate(1), estimate(2), taken_back, replace(taken_back, id="another"))
    assert [row[2] for row in listed_rows(text)] == ["estimate, withdrawn", "estimate"]
    assert text.count("withdrawn later") == 1


def test_no_notifications() -> None:
    text = page_of()
    assert "There are no estimates and no matches." in text
    assert listed_rows(text) == []


def test_texts_of_events_are_texts() -> None:
    events = {"x": None, EVIL: EVIL}
    gaps = EstimateDetail("both ends", (LostStep("x", 1, 3),), (GapFactor("x", EVIL, 0.5),))
    evil = estimate(1, subscription=EVIL, key={EVIL: EVIL}, bindings={EVIL: EVIL}, events=events, estimate=gaps)
    text = page_of(evil)
    assert text.count("</script>") == 2
    assert "<img" not in text[text.index("</head>") :]
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in text


def test_a_page_refers_to_nothing_else() -> None:
    text = page_of(estimate(1), match(2))
    assert not re.search(r"<script[^>]*\bsrc=|<link\b|@import", text)
    drawing = text[text.rindex("<script>") :]
    # The name of the form of the charts: nothing is read from there.
    assert set(re.findall(r'"([^"]*)": "https?://', drawing)) == {"$schema"}
    assert drawing.count("://") == drawing.count('"$schema"')
    assert '"url"' not in drawing
    # Scripts other than its own, and addresses, are refused.
    assert "default-src 'none'; script-src 'sha256-" in text


def test_lazy_notifications_are_the_same_as_objects() -> None:
    events = [{"time": n, "k": "a"} for n in range(90)]
    found = ft.run(CERTAIN, {"s": events})
    lazy, objects = NotificationPage(), NotificationPage()
    assert isinstance(found.rows, LazyNotifications)
    lazy.write(found.rows)
    objects.write(tuple(sorted(found, key=lambda notification: notification.subscription)))
    assert sorted(listed_rows(lazy.html())) == sorted(listed_rows(objects.html()))
    assert f"the first 50 of {len(found):,} matches" in lazy.html()


def test_the_public_call(tmp_path: Path) -> None:
    events = [{"time": n, "k": "a"} for n in range(4)]
    found = ft.run(
        STATEMENTS.replace("SUBSCRIBE lost", "SUBSCRIBE other").replace("LOSING 0.1 ABOVE 0.3", ""), {"s": events}
    )
    ft.estimate_page(found, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "WITHIN 100" in text  # statements are known
    ft.estimate_page(list(found), str(tmp_path / "list.html"))
    texts = listed_rows((tmp_path / "list.html").read_text(encoding="utf-8"))
    assert len(texts) == len(found) == len(listed_rows(text))
    assert {tuple(row[1:]) for row in texts} == {tuple(row[1:]) for row in listed_rows(text)}


def test_what_cannot_be_shown(tmp_path: Path) -> None:
    written = ft.run(CERTAIN, {"s": []}, output=tmp_path / "found.jsonl")
    assert isinstance(written, Notifications)
    with pytest.raises(ft.InputError, match="the notifications are in"):
        ft.estimate_page(written, tmp_path / "page.html")
    with pytest.raises(ft.InputError, match="notifications: expected the result of"):
        ft.estimate_page(5, tmp_path / "page.html")  # type: ignore[arg-type]
    with pytest.raises(ft.InputError, match="path: expected the path of a file, found a value of type list"):
        ft.estimate_page("page.html", [estimate(1)])  # type: ignore[arg-type]
    with pytest.raises(ft.InputError, match="cannot write"):
        ft.estimate_page([estimate(1)], tmp_path / "none" / "page.html")
    assert list(tmp_path.glob("*.html")) == []


@pytest.mark.browser
def test_a_browser_draws_the_page(tmp_path: Path) -> None:
    events = {"x": None, "z": EVIL}
    (tmp_path / "page.html").write_bytes(page_of(estimate(1, events=events, key={"k": EVIL}), match(2)).encode())
    command = [executable(), *OPTIONS, "--enable-logging=stderr", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    body = done.stdout[done.stdout.index("</head>") :]
    assert body.count('class="marks') == 3  # a timeline each, and a waterfall
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", body)
    assert {"lost, 80% between 1.0 and 3.0", "× 0.5", "ABOVE 0.3", "WITHIN 100"} <= set(drawn)
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in drawn
    assert "<img" not in body
    assert "CONSOLE" not in done.stderr
